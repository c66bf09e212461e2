use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::scheduler::Sharing;
use crate::shell::{Filed, Handle, Loan, Request, Trade, file};
use crate::{PoolOptions, PoolResult};

/// x
pub trait WorkerClassification: Send + 'static + Clone + Hash + Eq + PartialEq {}

impl<T: Send + 'static + Clone + Hash + Eq + PartialEq> WorkerClassification for T {}

/// x
#[async_trait::async_trait]
pub trait ClassifiedWorker<C: WorkerClassification>: Send + 'static {
    /// x
    fn is_work(&self) -> bool;
    /// x
    fn is_valid(&self, c: C) -> bool;
    /// x
    fn classification(&self) -> C;
}

/// x
#[async_trait::async_trait]
pub trait ClassifiedWorkerFactory<C: WorkerClassification, W: ClassifiedWorker<C>>:
    Send + Sync + 'static
{
    /// x
    async fn create(&self, c: Option<C>) -> PoolResult<W>;
}

/// x
#[derive(Debug, Clone, Default)]
pub struct ClassifiedWorkerPoolConfig {
    /// x
    pub max_count: Option<u16>,
    /// x
    pub idle_timeout: Option<Duration>,
    /// x
    pub max_count_per_classification: Option<u16>,
}

impl ClassifiedWorkerPoolConfig {
    /// x
    #[must_use]
    pub fn with_max_count(mut self, max_count: Option<u16>) -> Self {
        self.max_count = max_count;
        self
    }

    /// x
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// x
    #[must_use]
    pub fn with_max_count_per_classification(mut self, max_count: Option<u16>) -> Self {
        self.max_count_per_classification = max_count;
        self
    }
}

/// x
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct ClassifiedWorkerGuard<
    C: WorkerClassification,
    W: ClassifiedWorker<C>,
    F: ClassifiedWorkerFactory<C, W>,
> {
    loan: Loan<Classified<C, W, F>>,
}

impl_guard!(
    [C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>]
    ClassifiedWorkerGuard<C, W, F>, "ClassifiedWorkerGuard", W
);

/// x
pub struct ClassifiedWorkerPool<
    C: WorkerClassification,
    W: ClassifiedWorker<C>,
    F: ClassifiedWorkerFactory<C, W>,
> {
    handle: Handle<Classified<C, W, F>>,
}

/// x
pub type ClassifiedWorkerPoolRef<C, W, F> = Arc<ClassifiedWorkerPool<C, W, F>>;

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>>
    ClassifiedWorkerPool<C, W, F>
{
    /// x
    pub fn new(factory: F, config: ClassifiedWorkerPoolConfig) -> ClassifiedWorkerPoolRef<C, W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// x
    pub fn new_with_options(
        factory: F,
        config: ClassifiedWorkerPoolConfig,
        options: PoolOptions,
    ) -> ClassifiedWorkerPoolRef<C, W, F> {
        let limits = Limits::new(Sharing::Apart)
            .with_target(
                config.max_count,
                "pool max_count is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_bucket_limit(
                config.max_count_per_classification,
                "pool max_count_per_classification is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_timeout(config.idle_timeout)
            .with_options(&options, Some(DEFAULT_CREATIONS));
        let trade = Classified {
            factory,
            worker: PhantomData,
        };
        Arc::new(Self {
            handle: Handle::new(trade, limits, None),
        })
    }

    /// x
    pub async fn get_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
    ) -> PoolResult<ClassifiedWorkerGuard<C, W, F>> {
        let loan = self.handle.acquire(Request::Any).await?;
        Ok(ClassifiedWorkerGuard { loan })
    }

    /// x
    pub async fn get_classified_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
        classification: C,
    ) -> PoolResult<ClassifiedWorkerGuard<C, W, F>> {
        let request = self.handle.request_of(classification);
        let loan = self.handle.acquire(request).await?;
        Ok(ClassifiedWorkerGuard { loan })
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

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>> fmt::Debug
    for ClassifiedWorkerPool<C, W, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifiedWorkerPool")
            .field("state", &self.handle)
            .finish_non_exhaustive()
    }
}

/// How many creations run at a time unless an option says otherwise.
const DEFAULT_CREATIONS: u16 = 20;

/// Workers that have a class.
struct Classified<C, W, F> {
    factory: F,
    worker: PhantomData<fn() -> (C, W)>,
}

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>> Trade
    for Classified<C, W, F>
{
    type Key = C;
    type Worker = W;

    async fn create(&self, c: Option<C>) -> PoolResult<Filed<C, W>> {
        let worker = self.factory.create(c.clone()).await?;
        let primary = worker.classification();
        file(
            worker,
            primary,
            c,
            W::is_valid,
            "factory returned worker with mismatched classification: classification() of the new \
             worker must equal the class that create() was given",
            "worker primary classification is not valid for itself: \
             is_valid() of the new worker denies its own classification()",
        )
    }

    fn is_well(unit: &Filed<C, W>) -> bool {
        let Filed { worker, key } = unit;
        if !worker.is_work() {
            return false;
        }
        let primary = worker.classification();
        primary == *key && worker.is_valid(primary)
    }

    fn serves(unit: &Filed<C, W>, class: &C) -> bool {
        unit.worker.is_valid(class.clone())
    }
}
