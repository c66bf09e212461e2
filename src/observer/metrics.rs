use std::panic::Location;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, Unit, describe_counter, describe_gauge, describe_histogram,
};

use crate::{PoolDestroyReason, PoolError, PoolErrorCode, PoolObserver, PoolOrigin, PoolStep};

/// Counts and measures what happens in a pool, through the `metrics` facade. Feature `metrics`.
///
/// Names follow Prometheus: a unit is in the name, a counter ends in `_total`. Each metric has the label
/// `pool`, the name from [`with_name`](crate::PoolOptions::with_name), empty if there is none; some have
/// one more, `reason`, `step` or `code`, of few values. No label tells keys or workers apart, for their
/// number has no bound. `doc/observing.md` has a table of all metrics.
///
/// All metrics of a pool are registered at its first event, at zero, with the recorder that is installed
/// then: **install the recorder first**, or they go nowhere. One `PoolMetrics` may observe several pools.
/// Pools of the same name are counted together.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
/// use sfo_pool::{PoolMetrics, PoolOptions};
/// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let times = Matcher::Prefix("sfo_pool_".to_owned());
/// let exporter = PrometheusBuilder::new()
///     .set_buckets_for_metric(times, &PoolMetrics::BUCKETS)?
///     .install_recorder()?;
///
/// let options =
///     PoolOptions::default().with_name("users").with_observer(Arc::new(PoolMetrics::new()));
/// let pool = WorkerPool::new_with_options(Server, WorkerPoolConfig::default(), options);
/// drop(pool.get_worker().await?);
///
/// let page = exporter.render();
/// assert!(page.contains(r#"sfo_pool_workers_created_total{pool="users"} 1"#));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct PoolMetrics {
    first: OnceLock<Box<Handles>>,
}

impl PoolMetrics {
    /// Upper bounds, in seconds, for the buckets of the histograms: from what a warm request takes to what
    /// nobody waits for any more. An exporter that is told no buckets may make summaries instead, which
    /// can't be added up over several processes.
    ///
    /// # Example
    ///
    /// See [`PoolMetrics`].
    pub const BUCKETS: [f64; 15] = [
        0.000_01, 0.000_1, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
        30.0,
    ];

    /// One that has not registered anything yet.
    ///
    /// # Example
    ///
    /// See [`PoolMetrics`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is registered for a pool. Few observers see more than one, so a list will do; and it only
    /// grows, so it needs no lock.
    fn of(&self, origin: &PoolOrigin<'_>) -> &Handles {
        let pool = origin.pool.unwrap_or_default();
        let mut place = &self.first;
        loop {
            let handles = place.get_or_init(|| Box::new(Handles::register(pool)));
            if *handles.pool == *pool {
                return handles;
            }
            place = &handles.next;
        }
    }
}

/// What is registered for one pool.
#[derive(Debug)]
struct Handles {
    pool: Box<str>,
    created: Counter,
    creations_failed: Vec<Counter>,
    creation: Histogram,
    acquired: Vec<Counter>,
    acquire: Histogram,
    wait: Histogram,
    hold: Histogram,
    destroyed: Vec<Counter>,
    timeouts: Vec<Counter>,
    refused: Vec<Counter>,
    leaks: Counter,
    leaks_returned: Counter,
    cleared: Counter,
    closed: Counter,
    workers: Gauge,
    borrowed: Gauge,
    waiting: Gauge,
    next: OnceLock<Box<Handles>>,
}

impl Handles {
    fn register(pool: &str) -> Self {
        let counter = |name, what: &'static str| {
            describe_counter!(name, Unit::Count, what);
            metrics::counter!(name, "pool" => pool.to_owned())
        };
        let family = |name, what: &'static str, label, values: &[&'static str]| {
            describe_counter!(name, Unit::Count, what);
            let of = |value| metrics::counter!(name, "pool" => pool.to_owned(), label => value);
            values.iter().copied().map(of).collect()
        };
        let gauge = |name, what: &'static str| {
            describe_gauge!(name, Unit::Count, what);
            metrics::gauge!(name, "pool" => pool.to_owned())
        };
        let histogram = |name, what: &'static str| {
            describe_histogram!(name, Unit::Seconds, what);
            metrics::histogram!(name, "pool" => pool.to_owned())
        };
        let codes: Vec<_> = PoolErrorCode::ALL.iter().map(|code| code.name()).collect();
        let steps: Vec<_> = PoolStep::ALL.iter().map(|step| step.name()).collect();
        let reasons: Vec<_> = PoolDestroyReason::ALL.iter().map(|reason| reason.name()).collect();
        Self {
            pool: pool.into(),
            created: counter("sfo_pool_workers_created_total", "Workers that were created."),
            creations_failed: family(
                "sfo_pool_creations_failed_total",
                "Creations that have failed, by the code of the error.",
                "code",
                &codes,
            ),
            creation: histogram(
                "sfo_pool_creation_seconds",
                "How long it took to create a worker, all attempts together.",
            ),
            acquired: family(
                "sfo_pool_acquired_total",
                "Requests that have got their worker, by the step that served them.",
                "step",
                &steps,
            ),
            acquire: histogram(
                "sfo_pool_acquire_seconds",
                "How long requests took that have got their worker, from their first poll.",
            ),
            wait: histogram(
                "sfo_pool_wait_seconds",
                "How long requests waited in line, served or not.",
            ),
            hold: histogram("sfo_pool_hold_seconds", "How long workers were borrowed."),
            destroyed: family(
                "sfo_pool_workers_destroyed_total",
                "Workers that have left the pool, by the reason.",
                "reason",
                &reasons,
            ),
            timeouts: family(
                "sfo_pool_timeouts_total",
                "Requests whose time was up, by the step that they were at.",
                "step",
                &steps,
            ),
            refused: family(
                "sfo_pool_refused_total",
                "Requests that were turned away, or ended by a clear or a close, by the code.",
                "code",
                &codes,
            ),
            leaks: counter(
                "sfo_pool_leaks_total",
                "Workers that were held for longer than the leak threshold.",
            ),
            leaks_returned: counter(
                "sfo_pool_leaks_returned_total",
                "Workers that came back after they had been held for too long.",
            ),
            cleared: counter("sfo_pool_cleared_total", "Clears that have come to their end."),
            closed: counter("sfo_pool_closed_total", "Pools that were closed."),
            workers: gauge("sfo_pool_workers", "Workers that there are."),
            borrowed: gauge("sfo_pool_workers_borrowed", "Workers that are out."),
            waiting: gauge("sfo_pool_requests_waiting", "Requests that wait in line."),
            next: OnceLock::new(),
        }
    }
}

impl PoolObserver for PoolMetrics {
    fn created(&self, origin: &PoolOrigin<'_>, took: Duration) {
        let handles = self.of(origin);
        handles.created.increment(1);
        handles.creation.record(took);
        handles.workers.increment(1);
    }

    fn creation_failed(&self, origin: &PoolOrigin<'_>, error: &PoolError, _: Duration) {
        self.of(origin).creations_failed[error.code() as usize].increment(1);
    }

    fn acquired(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        let handles = self.of(origin);
        handles.acquired[step as usize].increment(1);
        handles.acquire.record(took);
        handles.borrowed.increment(1);
    }

    fn returned(&self, origin: &PoolOrigin<'_>, held: Duration) {
        let handles = self.of(origin);
        handles.hold.record(held);
        handles.borrowed.decrement(1);
    }

    fn destroyed(&self, origin: &PoolOrigin<'_>, reason: PoolDestroyReason) {
        let handles = self.of(origin);
        handles.destroyed[reason as usize].increment(1);
        handles.workers.decrement(1);
    }

    fn waiting(&self, origin: &PoolOrigin<'_>) {
        self.of(origin).waiting.increment(1);
    }

    fn waited(&self, origin: &PoolOrigin<'_>, time: Duration) {
        let handles = self.of(origin);
        handles.wait.record(time);
        handles.waiting.decrement(1);
    }

    fn timed_out(&self, origin: &PoolOrigin<'_>, _: Duration, step: PoolStep) {
        self.of(origin).timeouts[step as usize].increment(1);
    }

    fn refused(&self, origin: &PoolOrigin<'_>, code: PoolErrorCode) {
        self.of(origin).refused[code as usize].increment(1);
    }

    fn held_too_long(&self, origin: &PoolOrigin<'_>, _: &Location<'_>, _: Duration) {
        self.of(origin).leaks.increment(1);
    }

    fn came_back(&self, origin: &PoolOrigin<'_>, _: &Location<'_>, _: Duration) {
        self.of(origin).leaks_returned.increment(1);
    }

    fn cleared(&self, origin: &PoolOrigin<'_>) {
        self.of(origin).cleared.increment(1);
    }

    fn closed(&self, origin: &PoolOrigin<'_>) {
        self.of(origin).closed.increment(1);
    }
}
