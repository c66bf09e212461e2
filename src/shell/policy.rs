use std::iter;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::observer::Observers;
use crate::{PoolError, PoolRetry};

/// What a pool's options ask of the shell.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    /// How long a request takes at most, unless it says so itself.
    pub(crate) acquire_timeout: Option<Duration>,
    /// `None`: a creation is nothing but a call of `create`.
    pub(crate) creation: Option<CreationPolicy>,
    /// For how many nanoseconds an idle worker may rest and still need no recycling.
    pub(crate) recycle_after: Option<u64>,
    pub(crate) recycle_timeout: Option<Duration>,
    /// Whether a creation goes on apart from its request.
    pub(crate) creates_apart: bool,
    pub(crate) keeps_on_panic: bool,
    /// Whether anything is kept of each worker.
    pub(crate) keeps_records: bool,
    /// What the pool is called.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) observers: Observers,
    /// Whether anybody wants to know who gets what.
    pub(crate) is_watched: bool,
    /// How many nanoseconds a worker lives, and by how many less at random; `None`: for ever.
    pub(crate) lifetime: Option<(u64, u64)>,
}

/// How workers are created.
#[derive(Debug)]
pub(crate) struct CreationPolicy {
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<PoolRetry>,
}

impl Policy {
    /// The policy of all pools without such options, which share it.
    pub(crate) fn plain() -> Arc<Self> {
        static PLAIN: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);
        Arc::clone(&PLAIN)
    }

    /// Shares the plain one, if this is no other.
    pub(crate) fn shared(self) -> Arc<Self> {
        let has_times = [self.acquire_timeout, self.recycle_timeout].iter().any(Option::is_some);
        let is_plain = !has_times
            && self.creation.is_none()
            && self.recycle_after.is_none()
            && self.lifetime.is_none()
            && self.name.is_none()
            && !(self.keeps_on_panic || self.keeps_records || self.creates_apart);
        if is_plain { Self::plain() } else { Arc::new(self) }
    }

    /// How long a new worker may live.
    pub(super) fn span(&self) -> u64 {
        self.lifetime.map_or(u64::MAX, |(longest, less)| longest - fastrand::u64(..=less))
    }

    /// Whether an option needs the time on the way of every request.
    pub(crate) fn needs_clock(&self) -> bool {
        self.recycle_after.is_some_and(|after| after > 0) || self.keeps_records
    }
}

impl CreationPolicy {
    /// The pauses before further attempts.
    pub(super) fn delays(&self) -> Box<dyn Iterator<Item = Duration> + Send> {
        match &self.retry {
            Some(retry) => Box::new(retry.delays()),
            None => Box::new(iter::empty()),
        }
    }

    pub(super) fn may_retry(&self, error: &PoolError) -> bool {
        self.retry.as_ref().is_some_and(|retry| retry.is_transient(error))
    }
}
