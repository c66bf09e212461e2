use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::scheduler::Sharing;
use crate::shell::{Filed, Handle, Loan, Trade, file};
use crate::{PoolOptions, PoolResult};

/// x
pub trait WorkerKey: Send + 'static + Clone + Hash + Eq + PartialEq {}

impl<T: Send + 'static + Clone + Hash + Eq + PartialEq> WorkerKey for T {}

/// x
#[async_trait::async_trait]
pub trait KeyedWorker<K: WorkerKey>: Send + 'static {
    /// x
    fn is_work(&self) -> bool;
    /// x
    fn supports(&self, key: K) -> bool;
    /// x
    fn primary_key(&self) -> K;
}

/// x
#[async_trait::async_trait]
pub trait KeyedWorkerFactory<K: WorkerKey, W: KeyedWorker<K>>: Send + Sync + 'static {
    /// x
    async fn create(&self, key: K) -> PoolResult<W>;
}

/// x
#[derive(Debug, Clone, Default)]
pub struct KeyedWorkerPoolConfig {
    max_count_per_key: Option<u16>,
    max_idle_count_per_key: Option<u16>,
    idle_timeout: Option<Duration>,
}

impl KeyedWorkerPoolConfig {
    /// x
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// x
    #[must_use]
    pub fn with_max_count_per_key(mut self, max_count: Option<u16>) -> Self {
        self.max_count_per_key = max_count;
        self
    }

    /// x
    #[must_use]
    pub fn with_max_idle_count_per_key(mut self, max_idle_count: Option<u16>) -> Self {
        self.max_idle_count_per_key = max_idle_count;
        self
    }
}

/// x
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct KeyedWorkerGuard<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> {
    loan: Loan<Keyed<K, W, F>>,
}

impl_guard!(
    [K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>]
    KeyedWorkerGuard<K, W, F>, "KeyedWorkerGuard", W
);

/// x
pub struct KeyedWorkerPool<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> {
    handle: Handle<Keyed<K, W, F>>,
}

/// x
pub type KeyedWorkerPoolRef<K, W, F> = Arc<KeyedWorkerPool<K, W, F>>;

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> KeyedWorkerPool<K, W, F> {
    /// x
    pub fn new(factory: F, config: KeyedWorkerPoolConfig) -> KeyedWorkerPoolRef<K, W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// x
    pub fn new_with_options(
        factory: F,
        config: KeyedWorkerPoolConfig,
        options: PoolOptions,
    ) -> KeyedWorkerPoolRef<K, W, F> {
        let limits = Limits::new(Sharing::Apart)
            .with_bucket_limit(
                config.max_count_per_key,
                "pool max_count_per_key is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_limit(config.max_idle_count_per_key)
            .with_idle_timeout(config.idle_timeout)
            .with_options(&options, None);
        let trade = Keyed {
            factory,
            worker: PhantomData,
        };
        Arc::new(Self {
            handle: Handle::new(trade, limits, None),
        })
    }

    /// x
    pub async fn get_worker(
        self: &KeyedWorkerPoolRef<K, W, F>,
        key: K,
    ) -> PoolResult<KeyedWorkerGuard<K, W, F>> {
        let request = self.handle.request_of(key);
        let loan = self.handle.acquire(request).await?;
        Ok(KeyedWorkerGuard { loan })
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

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> fmt::Debug
    for KeyedWorkerPool<K, W, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedWorkerPool")
            .field("state", &self.handle)
            .finish_non_exhaustive()
    }
}

/// Workers that belong to a key.
struct Keyed<K, W, F> {
    factory: F,
    worker: PhantomData<fn() -> (K, W)>,
}

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> Trade for Keyed<K, W, F> {
    type Key = K;
    type Worker = W;

    async fn create(&self, key: Option<K>) -> PoolResult<Filed<K, W>> {
        let key = key.expect("a request to a keyed pool names a key");
        let worker = self.factory.create(key.clone()).await?;
        let primary = worker.primary_key();
        file(
            worker,
            primary,
            Some(key),
            W::supports,
            "factory returned worker with mismatched key: \
             primary_key() of the new worker must equal the key that create() was given",
            "worker primary key is not valid for itself: \
             supports() of the new worker denies its own primary_key()",
        )
    }

    fn is_well(unit: &Filed<K, W>) -> bool {
        let Filed { worker, key } = unit;
        if !worker.is_work() {
            return false;
        }
        let primary = worker.primary_key();
        primary == *key && worker.supports(primary)
    }

    /// A key is served from its own bucket alone.
    fn serves(_: &Filed<K, W>, _: &K) -> bool {
        false
    }
}
