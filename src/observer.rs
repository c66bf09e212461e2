#[cfg(feature = "metrics")]
pub(crate) mod metrics;
#[cfg(feature = "tracing")]
pub(crate) mod tracing;

use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::names::impl_names;
use crate::shell::ask;
use crate::{PoolDestroyReason, PoolError, PoolErrorCode};

/// Is told what happens in a pool, by [`PoolOptions::with_observer`](crate::PoolOptions::with_observer).
///
/// Each method is called in the task or thread where it happens, outside every lock, so it may call the
/// pool; but it should be quick, for that task goes on only after it. If it panics, the panic ends there.
///
/// What can be relied on: a worker's `created` comes before everything else of it, and its `destroyed`
/// after; only `held_too_long` may come late. Each `acquired` is followed by one `returned` of the same worker, whether its guard is dropped,
/// discarded or detached. Each `waiting` is followed by one `waited`. Events of different workers may
/// come at the same time.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use sfo_pool::{PoolDestroyReason, PoolObserver, PoolOptions, PoolOrigin};
/// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { false } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
///
/// /// Counts the workers that turn out to be dead.
/// #[derive(Default)]
/// struct Deaths(AtomicUsize);
///
/// impl PoolObserver for Deaths {
///     fn destroyed(&self, _: &PoolOrigin<'_>, reason: PoolDestroyReason) {
///         if reason == PoolDestroyReason::Unhealthy {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let deaths = Arc::new(Deaths::default());
/// let options = PoolOptions::default().with_observer(deaths.clone());
/// let pool = WorkerPool::new_with_options(Server, WorkerPoolConfig::default(), options);
/// drop(pool.get_worker().await?);
/// assert_eq!(deaths.0.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
pub trait PoolObserver: Send + Sync + 'static {
    /// A worker was created, which took so long, all attempts together.
    fn created(&self, origin: &PoolOrigin<'_>, took: Duration) {
        _ = (origin, took);
    }

    /// A creation has failed with an error, after so long. The origin names no worker. One that panics is
    /// not told of, but counted.
    fn creation_failed(&self, origin: &PoolOrigin<'_>, error: &PoolError, took: Duration) {
        _ = (origin, error, took);
    }

    /// A request has got its worker, so long after its first poll, and at last by this step.
    fn acquired(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        _ = (origin, took, step);
    }

    /// A guard has given its worker back after so long. If it goes, `destroyed` follows.
    fn returned(&self, origin: &PoolOrigin<'_>, held: Duration) {
        _ = (origin, held);
    }

    /// A worker has left the pool: its destructor has returned, or it was detached.
    fn destroyed(&self, origin: &PoolOrigin<'_>, reason: PoolDestroyReason) {
        _ = (origin, reason);
    }

    /// A request begins to wait in line. The origin names no worker, here and in the next three.
    fn waiting(&self, origin: &PoolOrigin<'_>) {
        _ = origin;
    }

    /// A request has left the line after so long, be it served or not.
    fn waited(&self, origin: &PoolOrigin<'_>, time: Duration) {
        _ = (origin, time);
    }

    /// A request's time was up during this step, so long after its first poll.
    fn timed_out(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        _ = (origin, took, step);
    }

    /// A request was turned away, or ended by a clear or the end of the pool. It is no refusal if a
    /// `try_get_worker` finds nothing.
    fn refused(&self, origin: &PoolOrigin<'_>, code: PoolErrorCode) {
        _ = (origin, code);
    }

    /// A worker is held for longer than
    /// [`with_leak_threshold`](crate::PoolOptions::with_leak_threshold) says, since a request made there.
    fn held_too_long(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        _ = (origin, place, held);
    }

    /// Such a worker came back after all. If it does while the warning is being told, that may be told
    /// later than this.
    fn came_back(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        _ = (origin, place, held);
    }

    /// A clear has come to its end. The origin names the pool alone, here and in the next.
    fn cleared(&self, origin: &PoolOrigin<'_>) {
        _ = origin;
    }

    /// The pool was closed; borrowed workers may still be out.
    fn closed(&self, origin: &PoolOrigin<'_>) {
        _ = origin;
    }
}

/// What an event is about.
///
/// # Example
///
/// See [`PoolObserver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOrigin<'a> {
    /// The name of the pool, from [`with_name`](crate::PoolOptions::with_name).
    pub pool: Option<&'a str>,
    /// What the factory calls the key or class of the worker or request.
    pub key: Option<&'a str>,
    /// The number of the worker, which no other worker of this process has.
    pub worker: Option<u64>,
}

/// How a request came to its worker, or what it was doing when its time was up.
///
/// # Example
///
/// See [`PoolObserver::acquired`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolStep {
    /// It found one that was idle.
    Idle,
    /// It waited for one that somebody returned, or that was created apart from it.
    Waiting,
    /// It had one recycled.
    Recycling,
    /// It created one.
    Creating,
}

impl_names!(PoolStep {
    Idle: "idle",
    Waiting: "waiting",
    Recycling: "recycling",
    Creating: "creating",
});

/// All observers of a pool.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn PoolObserver>>);

// They are only called, and what one leaves half-done when it panics is its owner's.
impl UnwindSafe for Observers {}
impl RefUnwindSafe for Observers {}

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn PoolObserver>) {
        self.0.push(observer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells each of them, and ends its panic.
    pub(crate) fn tell(&self, event: impl Fn(&dyn PoolObserver)) {
        for observer in &self.0 {
            drop(ask(|| event(&**observer)));
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}
