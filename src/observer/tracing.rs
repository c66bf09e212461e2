use std::error::Error;
use std::panic::Location;
use std::time::Duration;

use crate::{PoolDestroyReason, PoolError, PoolErrorCode, PoolObserver, PoolOrigin, PoolStep};

/// Tells a `tracing` subscriber what happens in a pool. Feature `tracing`.
///
/// Each event has the target `sfo_pool` and comes inside a span `pool`, whose field `pool` is the name from
/// [`with_name`](crate::PoolOptions::with_name). That span is a child of whatever span the event happens in,
/// such as that of a request, and has the level of its event: so a filter can pick one pool, as
/// `sfo_pool[pool{pool=users}]=trace` does for an `EnvFilter`, and a level that is filtered out costs a look.
///
/// What an operator should see is at `WARN`: creations that fail, requests that time out or are refused,
/// slow requests, workers that are held for too long, and panics. `INFO` has clears and the end, `DEBUG`
/// creations and destructions, `TRACE` each use. `doc/observing.md` has a table of them all.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use sfo_pool::{PoolOptions, PoolTracing};
/// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let options =
///     PoolOptions::default().with_name("users").with_observer(Arc::new(PoolTracing::new()));
/// let pool = WorkerPool::new_with_options(Server, WorkerPoolConfig::default(), options);
/// drop(pool.get_worker().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PoolTracing {
    slow_acquire: Option<Duration>,
}

impl PoolTracing {
    /// One that warns of requests that take a second.
    ///
    /// # Example
    ///
    /// See [`PoolTracing`].
    #[must_use]
    pub fn new() -> Self {
        Self { slow_acquire: Some(Duration::from_secs(1)) }
    }

    /// Warns of each request that is served only after so long, with the step that served it: whether it
    /// waited, or created, or had a worker recycled.
    ///
    /// Default: one second, for then it is not the pool's cost but a pool too small or a server too slow,
    /// and somebody has begun to wonder. `None`: never. With `Duration::ZERO` every request is slow.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use sfo_pool::PoolTracing;
    ///
    /// // Whoever calls this service gives up after 200 ms.
    /// let tracing = PoolTracing::new().with_slow_acquire(Some(Duration::from_millis(50)));
    /// ```
    #[must_use]
    pub fn with_slow_acquire(mut self, threshold: Option<Duration>) -> Self {
        self.slow_acquire = threshold;
        self
    }
}

impl Default for PoolTracing {
    fn default() -> Self {
        Self::new()
    }
}

/// An event of a level, in a span of the same level that names its pool.
macro_rules! tell {
    ($level:ident, $origin:ident, $($fields:tt)*) => {
        tracing::span!(target: "sfo_pool", tracing::Level::$level, "pool", pool = $origin.pool)
            .in_scope(|| {
                tracing::event!(
                    target: "sfo_pool",
                    tracing::Level::$level,
                    key = $origin.key,
                    worker = $origin.worker,
                    $($fields)*
                );
            })
    };
}

impl PoolObserver for PoolTracing {
    fn created(&self, origin: &PoolOrigin<'_>, took: Duration) {
        tell!(DEBUG, origin, took_ms = millis(took), "worker created");
    }

    fn creation_failed(&self, origin: &PoolOrigin<'_>, error: &PoolError, took: Duration) {
        let (code, took_ms) = (error.code().name(), millis(took));
        let error: &(dyn Error + 'static) = error;
        tell!(WARN, origin, code, error, took_ms, "creation failed");
    }

    fn acquired(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        let (step, took_ms) = (step.name(), millis(took));
        if self.slow_acquire.is_some_and(|threshold| took >= threshold) {
            tell!(WARN, origin, step, took_ms, "worker acquired slowly");
        } else {
            tell!(TRACE, origin, step, took_ms, "worker acquired");
        }
    }

    fn returned(&self, origin: &PoolOrigin<'_>, held: Duration) {
        tell!(TRACE, origin, held_ms = millis(held), "worker returned");
    }

    fn destroyed(&self, origin: &PoolOrigin<'_>, reason: PoolDestroyReason) {
        if reason == PoolDestroyReason::Panicked {
            tell!(WARN, origin, reason = reason.name(), "worker destroyed after a panic");
        } else {
            tell!(DEBUG, origin, reason = reason.name(), "worker destroyed");
        }
    }

    fn waiting(&self, origin: &PoolOrigin<'_>) {
        tell!(TRACE, origin, "request waits");
    }

    fn waited(&self, origin: &PoolOrigin<'_>, time: Duration) {
        tell!(TRACE, origin, waited_ms = millis(time), "request has waited");
    }

    fn timed_out(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        tell!(WARN, origin, step = step.name(), took_ms = millis(took), "request timed out");
    }

    fn refused(&self, origin: &PoolOrigin<'_>, code: PoolErrorCode) {
        tell!(WARN, origin, code = code.name(), "request refused");
    }

    fn held_too_long(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        tell!(WARN, origin, %place, held_ms = millis(held), "worker held for too long");
    }

    fn came_back(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        tell!(WARN, origin, %place, held_ms = millis(held), "worker came back after all");
    }

    fn cleared(&self, origin: &PoolOrigin<'_>) {
        tell!(INFO, origin, "pool cleared");
    }

    fn closed(&self, origin: &PoolOrigin<'_>) {
        tell!(INFO, origin, "pool closed");
    }
}

/// A number, so that a log can be searched for what took longer; to the microsecond, for people read it.
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}
