use std::time::Duration;

use crate::PoolOptions;
use crate::nanos::timeout_nanos;
use crate::scheduler::{Rules, Sharing};

/// The rules that a user's configuration asks for, and why they can't be kept, if so.
///
/// A constructor cannot fail, so it is `get` that reports a limit of zero.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) rules: Rules,
    pub(crate) invalid: Option<&'static str>,
}

impl Limits {
    pub(crate) fn new(sharing: Sharing) -> Self {
        Self { rules: Rules::unlimited(sharing), invalid: None }
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

    pub(crate) fn with_options(mut self, options: &PoolOptions, creations: Option<u16>) -> Self {
        let count = options.max_concurrent_creation_count(creations);
        self.rules.creation_limit = self.positive(
            count,
            "pool max_concurrent_creation_count is zero, so no worker could ever be created: \
             set it to 1 or more, or to None for no limit",
        );
        self
    }

    fn positive(&mut self, count: Option<u16>, zero: &'static str) -> usize {
        if count == Some(0) {
            self.invalid.get_or_insert(zero);
        }
        limit(count)
    }
}

fn limit(count: Option<u16>) -> usize {
    count.map_or(usize::MAX, usize::from)
}
