use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::scheduler::Sharing;
use crate::shell::{Filed, Handle, Loan, Request, Trade};
use crate::{PoolOptions, PoolResult};

/// x
#[async_trait::async_trait]
pub trait Worker: Send + 'static {
    /// x
    fn is_work(&self) -> bool;
}

/// x
#[async_trait::async_trait]
pub trait WorkerFactory<W: Worker>: Send + Sync + 'static {
    /// x
    async fn create(&self) -> PoolResult<W>;
}

/// x
#[derive(Debug, Clone, Default)]
pub struct WorkerPoolConfig {
    max_count: Option<u16>,
    max_idle_count: Option<u16>,
    idle_timeout: Option<Duration>,
}

impl WorkerPoolConfig {
    /// x
    #[must_use]
    pub fn with_max_count(mut self, max_count: Option<u16>) -> Self {
        self.max_count = max_count;
        self
    }

    /// x
    #[must_use]
    pub fn with_max_idle_count(mut self, max_idle_count: Option<u16>) -> Self {
        self.max_idle_count = max_idle_count;
        self
    }

    /// x
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }
}

/// x
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct WorkerGuard<W: Worker, F: WorkerFactory<W>> {
    loan: Loan<Plain<W, F>>,
}

impl_guard!([W: Worker, F: WorkerFactory<W>] WorkerGuard<W, F>, "WorkerGuard", W);

/// x
pub struct WorkerPool<W: Worker, F: WorkerFactory<W>> {
    handle: Handle<Plain<W, F>>,
}

/// x
pub type WorkerPoolRef<W, F> = Arc<WorkerPool<W, F>>;

impl<W: Worker, F: WorkerFactory<W>> WorkerPool<W, F> {
    /// x
    pub fn new(max_count: u16, factory: F) -> WorkerPoolRef<W, F> {
        let config = WorkerPoolConfig::default().with_max_count(Some(max_count));
        Self::new_with_config(factory, config)
    }

    /// x
    pub fn new_with_config(factory: F, config: WorkerPoolConfig) -> WorkerPoolRef<W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// x
    pub fn new_with_options(
        factory: F,
        config: WorkerPoolConfig,
        options: PoolOptions,
    ) -> WorkerPoolRef<W, F> {
        let limits = Limits::new(Sharing::Sole)
            .with_bucket_limit(
                config.max_count,
                "pool max_count is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_limit(config.max_idle_count)
            .with_idle_timeout(config.idle_timeout)
            .with_options(&options, None);
        let trade = Plain {
            factory,
            worker: PhantomData,
        };
        Arc::new(Self {
            handle: Handle::new(trade, limits, Some(())),
        })
    }

    /// x
    pub async fn get_worker(self: &WorkerPoolRef<W, F>) -> PoolResult<WorkerGuard<W, F>> {
        let loan = self.handle.acquire(Request::Sole).await?;
        Ok(WorkerGuard { loan })
    }

    /// x
    pub fn cleanup_idle_worker(&self) -> usize {
        self.handle.cleanup_idle()
    }

    /// x
    pub async fn clear_all_worker(&self) {
        self.handle.clear().await;
    }
}

impl<W: Worker, F: WorkerFactory<W>> fmt::Debug for WorkerPool<W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool")
            .field("state", &self.handle)
            .finish_non_exhaustive()
    }
}

/// Workers without keys.
struct Plain<W, F> {
    factory: F,
    worker: PhantomData<fn() -> W>,
}

impl<W: Worker, F: WorkerFactory<W>> Trade for Plain<W, F> {
    type Key = ();
    type Worker = W;

    async fn create(&self, _: Option<()>) -> PoolResult<Filed<(), W>> {
        let worker = self.factory.create().await?;
        Ok(Filed { worker, key: () })
    }

    fn is_well(unit: &Filed<(), W>) -> bool {
        unit.worker.is_work()
    }

    fn serves(_: &Filed<(), W>, (): &()) -> bool {
        true
    }
}
