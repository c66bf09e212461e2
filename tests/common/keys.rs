use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use sfo_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef,
    PoolErrorCode, PoolResult, pool_err,
};

use super::Call;

/// What the test knows of all keys that hold it.
#[derive(Default)]
pub struct KeyProbe {
    hashes: AtomicUsize,
    comparisons: AtomicUsize,
    clones: AtomicUsize,
    pub hash_panics: AtomicBool,
}

/// A key of which the test knows how often its code runs, and how many like it there are.
pub struct ProbedKey {
    number: u32,
    probe: Arc<KeyProbe>,
}

/// A worker of a probed key.
pub struct ProbedWorker {
    key: ProbedKey,
    pub is_well: bool,
}

/// Makes workers of probed keys, or fails, or comes to no end.
#[derive(Clone, Default)]
pub struct ProbedFactory {
    pub fails: Arc<AtomicBool>,
    pub hangs: Arc<AtomicBool>,
}

pub type ProbedPool = KeyedWorkerPoolRef<ProbedKey, ProbedWorker, ProbedFactory>;
pub type ProbedGuard = sfo_pool::KeyedWorkerGuard<ProbedKey, ProbedWorker, ProbedFactory>;

/// A pool whose keys are probed.
pub struct ProbedKeys {
    pub pool: ProbedPool,
    pub factory: ProbedFactory,
    pub probe: Arc<KeyProbe>,
}

impl KeyProbe {
    pub fn hashes(&self) -> usize {
        self.hashes.load(SeqCst)
    }

    /// How often the code of a key ran, of whatever kind.
    pub fn calls(&self) -> usize {
        self.hashes() + self.comparisons.load(SeqCst) + self.clones.load(SeqCst)
    }
}

impl ProbedKeys {
    pub fn open(config: KeyedWorkerPoolConfig) -> Self {
        let factory = ProbedFactory::default();
        let pool = KeyedWorkerPool::new(factory.clone(), config);
        Self { pool, factory, probe: Arc::default() }
    }

    pub fn get(&self, number: u32) -> Call<PoolResult<ProbedGuard>> {
        let pool = self.pool.clone();
        let key = ProbedKey { number, probe: Arc::clone(&self.probe) };
        Call::new(async move { pool.get_worker(key).await })
    }

    /// How many keys there are, wherever.
    pub fn keys(&self) -> usize {
        Arc::strong_count(&self.probe) - 1
    }
}

impl Clone for ProbedKey {
    fn clone(&self) -> Self {
        self.probe.clones.fetch_add(1, SeqCst);
        Self { number: self.number, probe: Arc::clone(&self.probe) }
    }
}

impl PartialEq for ProbedKey {
    fn eq(&self, other: &Self) -> bool {
        self.probe.comparisons.fetch_add(1, SeqCst);
        self.number == other.number
    }
}

impl Eq for ProbedKey {}

impl Hash for ProbedKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.probe.hashes.fetch_add(1, SeqCst);
        assert!(!self.probe.hash_panics.load(SeqCst), "the hash panics");
        self.number.hash(state);
    }
}

impl KeyedWorker<ProbedKey> for ProbedWorker {
    fn is_work(&self) -> bool {
        self.is_well
    }

    fn supports(&self, key: ProbedKey) -> bool {
        key == self.key
    }

    fn primary_key(&self) -> ProbedKey {
        self.key.clone()
    }
}

#[async_trait]
impl KeyedWorkerFactory<ProbedKey, ProbedWorker> for ProbedFactory {
    async fn create(&self, key: ProbedKey) -> PoolResult<ProbedWorker> {
        if self.hangs.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.fails.load(SeqCst) {
            return Err(pool_err!(PoolErrorCode::Failed, "the factory fails"));
        }
        Ok(ProbedWorker { key, is_well: true })
    }
}
