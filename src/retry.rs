use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::PoolError;

/// Which errors of `create` are worth another attempt, and how long to wait before it.
///
/// The pauses grow twofold from the first one up to the longest, and each has a random part added, as
/// long as itself at most, so that callers who failed together do not come back together.
///
/// Default: up to 3 more attempts, the first after 100 ms, none more than 10 s after the one before;
/// for most faults that pass by themselves pass within a second, and the caller waits meanwhile.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sfo_pool::{PoolErrorCode, PoolOptions, PoolRetry};
///
/// // What the factory reports without a code of its own is the network's fault.
/// let retry = PoolRetry::new(|error| error.code() == PoolErrorCode::Failed)
///     .with_max_retry_count(5)
///     .with_first_delay(Duration::from_millis(50))
///     .with_max_delay(Duration::from_secs(2));
/// let options = PoolOptions::default().with_creation_retry(Some(retry));
/// ```
#[derive(Clone)]
pub struct PoolRetry {
    is_transient: Arc<dyn Fn(&PoolError) -> bool + Send + Sync>,
    backoff: ExponentialBuilder,
}

// The predicate is only called, and what it leaves half-done when it panics is its owner's.
impl UnwindSafe for PoolRetry {}
impl RefUnwindSafe for PoolRetry {}

impl PoolRetry {
    /// Tries again after the errors of which `is_transient` says so.
    ///
    /// It is called in the task of the request, outside every lock.
    ///
    /// # Example
    ///
    /// See [`PoolRetry`].
    pub fn new(is_transient: impl Fn(&PoolError) -> bool + Send + Sync + 'static) -> Self {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_max_times(3)
            .with_min_delay(Duration::from_millis(100))
            .with_max_delay(Duration::from_secs(10));
        Self { is_transient: Arc::new(is_transient), backoff }
    }

    /// How many more attempts there are after the first. Default: 3. With 0 there is none.
    #[must_use]
    pub fn with_max_retry_count(mut self, count: usize) -> Self {
        self.backoff = self.backoff.with_max_times(count);
        self
    }

    /// The pause before the second attempt, without its random part. Default: 100 ms.
    #[must_use]
    pub fn with_first_delay(mut self, delay: Duration) -> Self {
        self.backoff = self.backoff.with_min_delay(delay);
        self
    }

    /// The longest pause, without its random part. Default: 10 s.
    #[must_use]
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.backoff = self.backoff.with_max_delay(delay);
        self
    }

    pub(crate) fn delays(&self) -> impl Iterator<Item = Duration> + use<> {
        self.backoff.build()
    }

    pub(crate) fn is_transient(&self, error: &PoolError) -> bool {
        (self.is_transient)(error)
    }
}

impl fmt::Debug for PoolRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolRetry").field("backoff", &self.backoff).finish_non_exhaustive()
    }
}
