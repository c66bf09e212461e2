use std::fmt::Debug;
use std::ops::DerefMut;
use std::time::Duration;

use sfo_pool::{
    ClassifiedWorkerGuard, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    ClassifiedWorkerPoolRef, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig,
    KeyedWorkerPoolRef, PoolOptions, PoolOutstanding, PoolResult, PoolRetained, PoolStatistics,
    PoolStatus, PoolWorkerInfo, WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
};

use super::{Call, Factory, ONE, TestWorker};

/// The limits of a pool under test.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Of the pool, or of each key.
    pub max_count: Option<u16>,
    /// Not in the classified pool, which has no such limit.
    pub max_idle_count: Option<u16>,
    pub idle_timeout: Option<Duration>,
    /// Only in the classified pool.
    pub max_count_per_class: Option<u16>,
    pub options: PoolOptions,
}

impl Setup {
    pub fn max(max_count: u16) -> Self {
        Self { max_count: Some(max_count), ..Self::default() }
    }

    pub fn idle_timeout(mut self, seconds: u64) -> Self {
        self.idle_timeout = Some(Duration::from_secs(seconds));
        self
    }

    pub fn max_idle(mut self, count: u16) -> Self {
        self.max_idle_count = Some(count);
        self
    }

    pub fn max_per_class(mut self, count: u16) -> Self {
        self.max_count_per_class = Some(count);
        self
    }

    pub fn max_creations(mut self, count: u16) -> Self {
        self.options = self.options.with_max_concurrent_creation_count(Some(count));
        self
    }

    /// With more options.
    pub fn with(mut self, more: impl FnOnce(PoolOptions) -> PoolOptions) -> Self {
        self.options = more(self.options);
        self
    }

    pub fn acquire_timeout(self, seconds: u64) -> Self {
        self.with(|options| options.with_acquire_timeout(Some(Duration::from_secs(seconds))))
    }

    /// This pool, and the factory that it has.
    pub fn open<P: TestPool>(self) -> (P, Factory) {
        let factory = Factory::default();
        (P::new(factory.clone(), self), factory)
    }
}

/// What a law needs of a pool, whichever it is. Where a pool has keys or classes, `get` asks for
/// the same one each time.
pub trait TestPool: Clone + Debug + Send + Sync + 'static {
    type Guard: DerefMut<Target = TestWorker> + Send + 'static;

    fn new(factory: Factory, setup: Setup) -> Self;
    fn get(&self) -> Call<PoolResult<Self::Guard>>;
    fn get_timeout(&self, limit: Duration) -> Call<PoolResult<Self::Guard>>;
    fn try_get(&self) -> PoolResult<Option<Self::Guard>>;
    fn detach(guard: Self::Guard) -> TestWorker;
    fn discard(guard: Self::Guard);
    fn info(guard: &Self::Guard) -> Option<PoolWorkerInfo>;
    fn set_label(guard: &Self::Guard, label: &'static str);
    fn status(&self) -> PoolStatus;
    fn statistics(&self) -> PoolStatistics;
    fn outstanding(&self) -> Vec<PoolOutstanding>;
    fn resize(&self, max_count: Option<u16>) -> PoolResult<()>;
    fn retain(&self, is_kept: impl FnMut(&TestWorker) -> bool) -> PoolRetained;
    fn invalidate(&self);
    fn close(&self) -> Call<()>;
    fn close_within(&self, limit: Duration) -> Call<usize>;
    fn is_closed(&self) -> bool;
    fn closed(&self) -> Call<()>;
    fn prewarm(&self, count: usize) -> Call<PoolResult<usize>>;
    fn clear(&self) -> Call<()>;
    fn cleanup(&self) -> usize;
    /// Tells whether the pool is gone, without keeping it.
    fn probe(&self) -> Box<dyn Fn() -> bool + Send>;

    /// So many workers that are served at once.
    #[track_caller]
    fn take(&self, count: usize) -> Vec<Self::Guard> {
        let mut guards = Vec::new();
        guards.resize_with(count, || self.get().expect_worker());
        guards
    }
}

/// A request to a pool.
pub type Get<P> = Call<PoolResult<<P as TestPool>::Guard>>;

macro_rules! test_pool {
    ($(#[$meta:meta])* $name:ident($pool:ty), $guard:ty, |$get:ident, $limit:ident, $count:ident| $got:expr,
     $timed:expr, $tried:expr, $warmed:expr, $new:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name(pub $pool);

        impl TestPool for $name {
            type Guard = $guard;

            fn new(factory: Factory, setup: Setup) -> Self {
                let new: fn(Factory, Setup) -> $pool = $new;
                Self(new(factory, setup))
            }

            fn get(&self) -> Call<PoolResult<Self::Guard>> {
                let $get = self.0.clone();
                Call::new(async move { $got.await })
            }

            fn get_timeout(&self, $limit: Duration) -> Call<PoolResult<Self::Guard>> {
                let $get = self.0.clone();
                Call::new(async move { $timed.await })
            }

            fn try_get(&self) -> PoolResult<Option<Self::Guard>> {
                let $get = &self.0;
                $tried
            }

            fn detach(guard: Self::Guard) -> TestWorker {
                <$guard>::detach(guard)
            }

            fn discard(guard: Self::Guard) {
                <$guard>::discard(guard);
            }

            fn info(guard: &Self::Guard) -> Option<PoolWorkerInfo> {
                <$guard>::info(guard)
            }

            fn set_label(guard: &Self::Guard, label: &'static str) {
                <$guard>::set_label(guard, label);
            }

            fn status(&self) -> PoolStatus {
                self.0.status()
            }

            fn statistics(&self) -> PoolStatistics {
                self.0.statistics()
            }

            fn outstanding(&self) -> Vec<PoolOutstanding> {
                self.0.outstanding()
            }

            fn resize(&self, max_count: Option<u16>) -> PoolResult<()> {
                self.0.set_max_count(max_count)
            }

            fn retain(&self, is_kept: impl FnMut(&TestWorker) -> bool) -> PoolRetained {
                self.0.retain(is_kept)
            }

            fn invalidate(&self) {
                self.0.invalidate_all();
            }

            fn close(&self) -> Call<()> {
                let pool = self.0.clone();
                Call::new(async move { pool.close().await })
            }

            fn close_within(&self, limit: Duration) -> Call<usize> {
                let pool = self.0.clone();
                Call::new(async move { pool.close_within(limit).await })
            }

            fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            fn closed(&self) -> Call<()> {
                let pool = self.0.clone();
                Call::new(async move { pool.closed().await })
            }

            fn prewarm(&self, $count: usize) -> Call<PoolResult<usize>> {
                let $get = self.0.clone();
                Call::new(async move { $warmed.await })
            }

            fn clear(&self) -> Call<()> {
                let pool = self.0.clone();
                Call::new(async move { pool.clear_all_worker().await })
            }

            fn cleanup(&self) -> usize {
                self.0.cleanup_idle_worker()
            }

            fn probe(&self) -> Box<dyn Fn() -> bool + Send> {
                let pool = std::sync::Arc::downgrade(&self.0);
                Box::new(move || pool.upgrade().is_none())
            }
        }
    };
}

test_pool!(
    General(WorkerPoolRef<TestWorker, Factory>),
    WorkerGuard<TestWorker, Factory>,
    |pool, limit, count| pool.get_worker(),
    pool.get_worker_timeout(limit),
    pool.try_get_worker(),
    pool.prewarm(count),
    |factory, setup| {
        let config = WorkerPoolConfig::default()
            .with_max_count(setup.max_count)
            .with_max_idle_count(setup.max_idle_count)
            .with_idle_timeout(setup.idle_timeout);
        WorkerPool::new_with_options(factory, config, setup.options)
    }
);

test_pool!(
    Keyed(KeyedWorkerPoolRef<u32, TestWorker, Factory>),
    KeyedWorkerGuard<u32, TestWorker, Factory>,
    |pool, limit, count| pool.get_worker(ONE),
    pool.get_worker_timeout(ONE, limit),
    pool.try_get_worker(ONE),
    pool.prewarm(ONE, count),
    |factory, setup| {
        let config = KeyedWorkerPoolConfig::default()
            .with_max_count_per_key(setup.max_count)
            .with_max_idle_count_per_key(setup.max_idle_count)
            .with_idle_timeout(setup.idle_timeout);
        KeyedWorkerPool::new_with_options(factory, config, setup.options)
    }
);

test_pool!(
    /// Asks for a class.
    Classified(ClassifiedWorkerPoolRef<u32, TestWorker, Factory>),
    ClassifiedWorkerGuard<u32, TestWorker, Factory>,
    |pool, limit, count| pool.get_classified_worker(ONE),
    pool.get_classified_worker_timeout(ONE, limit),
    pool.try_get_classified_worker(ONE),
    pool.prewarm(count),
    classified
);

test_pool!(
    /// Asks the classified pool for any worker.
    Any(ClassifiedWorkerPoolRef<u32, TestWorker, Factory>),
    ClassifiedWorkerGuard<u32, TestWorker, Factory>,
    |pool, limit, count| pool.get_worker(),
    pool.get_worker_timeout(limit),
    pool.try_get_worker(),
    pool.prewarm(count),
    classified
);

fn classified(factory: Factory, setup: Setup) -> ClassifiedWorkerPoolRef<u32, TestWorker, Factory> {
    let config = ClassifiedWorkerPoolConfig {
        max_count: setup.max_count,
        idle_timeout: setup.idle_timeout,
        max_count_per_classification: setup.max_count_per_class,
    };
    ClassifiedWorkerPool::new_with_options(factory, config, setup.options)
}

impl Keyed {
    pub fn get_of(&self, key: u32) -> Call<PoolResult<<Self as TestPool>::Guard>> {
        let pool = self.0.clone();
        Call::new(async move { pool.get_worker(key).await })
    }
}

impl Classified {
    pub fn get_of(&self, class: u32) -> Call<PoolResult<<Self as TestPool>::Guard>> {
        let pool = self.0.clone();
        Call::new(async move { pool.get_classified_worker(class).await })
    }

    pub fn get_any(&self) -> Call<PoolResult<<Self as TestPool>::Guard>> {
        let pool = self.0.clone();
        Call::new(async move { pool.get_worker().await })
    }
}
