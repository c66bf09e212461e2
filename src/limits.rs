use std::sync::Arc;
use std::time::Duration;

use crate::PoolOptions;
use crate::nanos::{nanos, timeout_nanos};
use crate::scheduler::{Rules, Sharing};
use crate::shell::{CreationPolicy, Keeper, Policy, Trade};

/// The rules that a user's configuration asks for, and why they can't be kept, if so.
///
/// A constructor cannot fail, so it is `get` that reports a limit of zero.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) rules: Rules,
    pub(crate) policy: Arc<Policy>,
    pub(crate) invalid: Option<&'static str>,
    /// Whether the pool has a task of its own, and how long an asynchronous end may take there.
    maintenance: Option<Option<Duration>>,
}

impl Limits {
    pub(crate) fn new(sharing: Sharing) -> Self {
        Self {
            rules: Rules::unlimited(sharing),
            policy: Policy::plain(),
            invalid: None,
            maintenance: None,
        }
    }

    /// `count` for the workers of one bucket; zero is invalid because of `zero`.
    pub(crate) fn with_bucket_limit(mut self, count: Option<u16>, zero: &'static str) -> Self {
        self.rules.bucket_limit = self.positive(count, zero);
        self
    }

    pub(crate) fn with_idle_limit(mut self, count: Option<u16>) -> Self {
        self.rules.bucket_idle_limit = limit(count);
        self
    }

    pub(crate) fn with_idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.rules.idle_timeout = timeout_nanos(timeout);
        self
    }

    pub(crate) fn with_target(mut self, count: Option<u16>, zero: &'static str) -> Self {
        self.rules.sharing = Sharing::Target(self.positive(count, zero));
        self
    }

    /// `creations`: how many there may be at a time in this kind of pool unless an option says so.
    pub(crate) fn with_options(mut self, options: PoolOptions, creations: Option<u16>) -> Self {
        let count = options.max_concurrent_creation_count(creations);
        self.rules.creation_limit = self.positive(
            count,
            "pool max_concurrent_creation_count is zero, so no worker could ever be created: \
             set it to 1 or more, or to None for no limit",
        );
        if options.max_use_count == Some(0) {
            self.invalid.get_or_insert(
                "pool max_use_count is zero, so no worker could ever be used: \
                 set it to 1 or more, or to None for no limit",
            );
        }
        if options.min_idle_count > 0 {
            if self.rules.sharing == Sharing::Apart {
                self.invalid.get_or_insert(
                    "pool min_idle_count is set, but a keyed pool does not know for which keys: \
                     call prewarm() for those that you need",
                );
            }
            let ends_at_once = |time: Option<Duration>| time.is_some_and(|time| time.is_zero());
            if ends_at_once(options.max_lifetime) || self.rules.idle_timeout == Some(0) {
                self.invalid.get_or_insert(
                    "pool min_idle_count is set, but idle workers end at once: \
                     raise max_lifetime and idle_timeout above zero",
                );
            }
            if !options.maintenance {
                self.invalid.get_or_insert(
                    "pool min_idle_count is set, but there is no task that creates those workers: \
                     set maintenance as well",
                );
            }
        }
        let leak_threshold = timeout_nanos(options.leak_threshold);
        if leak_threshold.is_some() && (!options.maintenance || options.observers.is_empty()) {
            self.invalid.get_or_insert(
                "pool leak_threshold is set, but there is no task that looks, or nobody to tell: \
                 set maintenance and an observer as well",
            );
        }
        self.rules.hold_limit = leak_threshold;
        let is_watched = options.outstanding || !options.observers.is_empty();
        let shares = matches!(self.rules.sharing, Sharing::Target(_));
        if !shares && (options.create_first || options.max_overshoot_count.is_some()) {
            self.invalid.get_or_insert(
                "pool create_first or max_overshoot_count is set, but only a classified pool has \
                 classes that make way for each other: don't set them here",
            );
        }
        self.rules.creates_apart = options.detached_creation;
        self.rules.creates_first = options.create_first;
        self.rules.overshoot_limit = limit(options.max_overshoot_count.flatten());
        self.maintenance = options.maintenance.then_some(options.destroy_timeout);
        self.rules.reserve = options.min_idle_count.into();
        self.rules.waiting_limit = options.max_waiting_count.unwrap_or(usize::MAX);
        self.rules.max_uses = options.max_use_count.unwrap_or(u64::MAX);
        let lifetime = timeout_nanos(options.max_lifetime);
        let policy = Policy {
            acquire_timeout: options.acquire_timeout,
            creation: (options.creation_timeout.is_some() || options.creation_retry.is_some())
                .then(|| {
                    let (timeout, retry) = (options.creation_timeout, options.creation_retry);
                    CreationPolicy { timeout, retry }
                }),
            recycle_after: timeout_nanos(options.recycle_after),
            recycle_timeout: options.recycle_timeout,
            creates_apart: options.detached_creation,
            keeps_on_panic: options.keep_on_panic,
            keeps_records: options.worker_info
                || is_watched
                || lifetime.is_some()
                || options.max_use_count.is_some(),
            name: options.name,
            observers: options.observers,
            is_watched,
            lifetime: lifetime.map(|longest| {
                let jitter = options.max_lifetime_jitter.map_or(longest / 10, nanos);
                (longest, jitter.min(longest))
            }),
        };
        self.policy = policy.shared();
        self
    }

    pub(crate) fn keeper<T: Trade>(&self) -> Option<Arc<Keeper<T>>> {
        self.maintenance.map(Keeper::new)
    }

    fn positive(&mut self, count: Option<u16>, zero: &'static str) -> usize {
        if count == Some(0) {
            self.invalid.get_or_insert(zero);
        }
        limit(count)
    }
}

pub(crate) fn limit(count: Option<u16>) -> usize {
    count.map_or(usize::MAX, usize::from)
}
