use std::fmt;
use std::time::Duration;

use crate::PoolDestroyReason;
use crate::histogram::Histogram;
use crate::scheduler::{Counts, End, Tally};

/// What has happened in a pool since it was made: counts that grow, but for `waiting`, `in_progress` and
/// `total`, all of them at one moment. A request that was served in vain is taken back from its `served_…`,
/// so take differences by `saturating_sub`.
///
/// Every request and every worker is counted in one place:
///
/// - `started` = served (in three ways) + `refused` + `cleared` + `timed_out` + `failed` + `cancelled` +
///   `waiting` + `in_progress`,
/// - `created` = `total` + [`destroyed_in_all`](Self::destroyed_in_all).
///
/// A request that was lent an idle worker counts as served at once while the worker is asked by
/// `is_work`. If it turns out to be dead, the request is in progress again. Requests that an
/// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig) ends are not counted.
///
/// # Example
///
/// ```
/// # use sfo_pool::{PoolDestroyReason, PoolResult, Worker, WorkerFactory, WorkerGuard, WorkerPool};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let pool = WorkerPool::new(1, Server);
/// drop(pool.get_worker().await?);
/// WorkerGuard::discard(pool.get_worker().await?);
///
/// let statistics = pool.statistics();
/// assert_eq!((statistics.started, statistics.served_at_once), (2, 1));
/// assert_eq!((statistics.served_by_creation, statistics.created), (1, 1));
/// assert_eq!(statistics.destroyed(PoolDestroyReason::Discarded), 1);
/// assert_eq!(statistics.wait_times.quantile(0.99), None, "nobody had to wait");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Requests that were made. One of `try_get_worker` that finds nothing is a request refused.
    pub started: u64,
    /// Requests served by an idle worker.
    pub served_at_once: u64,
    /// Requests served by a worker that somebody returned, or that was created apart from them, for which
    /// they waited.
    pub served_after_wait: u64,
    /// Requests served by a worker that they created.
    pub served_by_creation: u64,
    /// Requests that were turned away at once: while the pool was cleared or closed, or full; and each
    /// `try_get_worker` that found nothing, of which no observer is told.
    pub refused: u64,
    /// Requests that a clear or the end of the pool has ended.
    pub cleared: u64,
    /// Requests whose time was up.
    pub timed_out: u64,
    /// Requests that have failed with an error of the factory's, or with a panic.
    pub failed: u64,
    /// Requests whose future was dropped.
    pub cancelled: u64,
    /// Requests that wait in line now.
    pub waiting: u64,
    /// Requests that have been given something and not taken it yet, that create or recycle now.
    pub in_progress: u64,
    /// Workers that were created.
    pub created: u64,
    /// Creations that ended with an error or a panic, all their attempts counted as one.
    pub creations_failed: u64,
    /// Creations that were dropped before they ended.
    pub creations_cancelled: u64,
    /// What those creations took together that have brought a worker.
    pub creation_time: Duration,
    /// Workers that there are now: idle, borrowed or being destroyed.
    pub total: u64,
    /// How long those requests waited in line that had to and were given something.
    pub wait_times: PoolWaitTimes,
    destroyed: [u64; PoolDestroyReason::ALL.len()],
}

impl PoolStatistics {
    pub(crate) fn new(tally: Tally, counts: Counts) -> Self {
        let waiting = counts.waiting as u64;
        Self {
            started: tally.started(),
            served_at_once: tally.at_once(),
            served_after_wait: tally.after_waiting,
            served_by_creation: tally.by_creation,
            refused: tally.ended(End::Refused),
            cleared: tally.ended(End::Cleared),
            timed_out: tally.ended(End::TimedOut),
            failed: tally.ended(End::Failed),
            cancelled: tally.ended(End::Cancelled),
            waiting,
            in_progress: tally.in_progress - waiting,
            created: tally.created,
            creations_failed: tally.creations_failed,
            creations_cancelled: tally.creations_cancelled,
            creation_time: Duration::from_nanos(tally.creation_time),
            total: (counts.total - counts.creating) as u64,
            destroyed: tally.destroyed,
            wait_times: PoolWaitTimes(tally.waits),
        }
    }

    /// How many workers have left the pool for this reason.
    ///
    /// # Example
    ///
    /// See [`PoolStatistics`].
    pub fn destroyed(&self, reason: PoolDestroyReason) -> u64 {
        self.destroyed[reason as usize]
    }

    /// How many workers have left the pool, detached ones included.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::PoolStatistics;
    /// fn is_balanced(statistics: &PoolStatistics) -> bool {
    ///     statistics.created == statistics.total + statistics.destroyed_in_all()
    /// }
    /// ```
    pub fn destroyed_in_all(&self) -> u64 {
        self.destroyed.iter().sum()
    }
}

/// How long requests have waited, in a histogram whose values are known to an eighth.
///
/// # Example
///
/// See [`PoolStatistics`].
#[derive(Clone, PartialEq, Eq)]
pub struct PoolWaitTimes(Histogram);

impl PoolWaitTimes {
    /// How many waits were counted.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// What they took together.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.sum()).unwrap_or(u64::MAX))
    }

    /// The longest of them; zero if there was none.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.0.longest())
    }

    /// How long it took at most for this share of them, from 0 to 1: `quantile(0.5)` is the median.
    /// It is too long by an eighth at the most. `None` if there was none.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::PoolStatistics;
    /// fn print(statistics: &PoolStatistics) {
    ///     if let Some(time) = statistics.wait_times.quantile(0.99) {
    ///         println!("99 of 100 waited for no longer than {time:?}");
    ///     }
    /// }
    /// ```
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        self.0.quantile(share).map(Duration::from_nanos)
    }
}

impl fmt::Debug for PoolWaitTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("PoolWaitTimes");
        fields.field("count", &self.count());
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            if let Some(time) = self.quantile(share) {
                fields.field(name, &time);
            }
        }
        fields.field("longest", &self.longest()).finish()
    }
}
