use std::time::Duration;

use crate::scheduler::{Counts, Phase, Record};

/// What there is in a pool, or under one key, all of it at one moment.
///
/// # Example
///
/// ```
/// # use sfo_pool::{PoolPhase, PoolResult, Worker, WorkerFactory, WorkerPool};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let pool = WorkerPool::new(8, Server);
/// let connection = pool.get_worker().await?;
/// let status = pool.status();
/// assert_eq!((status.total, status.borrowed, status.idle), (1, 1, 0));
/// assert_eq!((status.max_count, status.phase), (Some(8), PoolPhase::Open));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// The limit on workers, or the target of a classified pool; in a keyed pool, of each key.
    /// `None`: no limit.
    pub max_count: Option<usize>,
    /// How many workers there are: idle, borrowed, being created or being destroyed.
    pub total: usize,
    /// How many are idle.
    pub idle: usize,
    /// How many are out: with a guard, on their way to a request, being asked or recycled, or being
    /// destroyed because they are not well.
    pub borrowed: usize,
    /// How many are being created.
    pub creating: usize,
    /// How many requests wait in line.
    pub waiting: usize,
    /// Whether requests are served.
    pub phase: PoolPhase,
}

/// Whether a pool serves requests.
///
/// # Example
///
/// See [`PoolStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolPhase {
    /// It does.
    Open,
    /// It is being cleared, and will be open again.
    Clearing,
    /// It is closed for good.
    Closed,
}

impl PoolStatus {
    pub(crate) fn new(counts: Counts) -> Self {
        let Counts { limit, total, idle, creating, leaving, waiting, phase } = counts;
        Self {
            max_count: (limit < usize::MAX).then_some(limit),
            total,
            idle,
            borrowed: total - idle - creating - leaving,
            creating,
            waiting,
            phase: match phase {
                Phase::Open => PoolPhase::Open,
                Phase::Clearing => PoolPhase::Clearing,
                Phase::Closed => PoolPhase::Closed,
            },
        }
    }
}

/// What a pool knows of one worker.
///
/// # Example
///
/// ```
/// # use sfo_pool::{
/// #     PoolOptions, PoolResult, Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig,
/// # };
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let options = PoolOptions::default().with_worker_info(true);
/// let pool = WorkerPool::new_with_options(Server, WorkerPoolConfig::default(), options);
/// drop(pool.get_worker().await?);
///
/// let connection = pool.get_worker().await?;
/// let info = WorkerGuard::info(&connection).expect("the option is on");
/// assert_eq!(info.use_count, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolWorkerInfo {
    /// A number that no other worker of this process has.
    pub id: u64,
    /// The time since it was created.
    pub age: Duration,
    /// How often it has been lent, this time included.
    pub use_count: u64,
    /// The time since it was lent to this guard.
    pub borrowed_for: Duration,
}

impl PoolWorkerInfo {
    pub(crate) fn new((record, now): (Record, u64)) -> Self {
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        Self {
            id: record.id,
            age: since(record.born),
            use_count: record.uses,
            borrowed_for: since(record.lent),
        }
    }
}

/// What became of the idle workers that a predicate was asked about.
///
/// # Example
///
/// See [`WorkerPool::retain`](crate::WorkerPool::retain).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolRetained {
    /// How many stayed.
    pub kept: usize,
    /// How many went.
    pub removed: usize,
}
