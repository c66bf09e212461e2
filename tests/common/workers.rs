use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, KeyedWorker, KeyedWorkerFactory, PoolError,
    PoolErrorCode, PoolResult, Worker, WorkerFactory, pool_err,
};
use tokio::sync::oneshot;

/// A worker of any pool, whose answers the test decides.
pub struct TestWorker {
    pub state: Arc<WorkerState>,
    factory: Factory,
}

/// What the test knows of a worker, also while the pool has it.
pub struct WorkerState {
    pub id: usize,
    pub is_well: AtomicBool,
    /// What it names as its key or class.
    pub key: AtomicU32,
    /// Whether it serves the key that it names.
    pub serves_own: AtomicBool,
    /// The other keys or classes that it serves.
    pub serves: Mutex<Vec<u32>>,
    pub is_destroyed: AtomicBool,
}

/// Where the user's code is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Callback {
    Create,
    Recycle,
    Destroy,
    IsWork,
    /// `supports` and `is_valid`.
    Serves,
    /// `primary_key` and `classification`.
    Names,
    /// The worker's destructor.
    Drop,
}

/// How a creation ends. A call of `recycle` that ends with a worker has succeeded.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// With a worker as asked for; of class 0 if none was named.
    Worker,
    /// With a worker of this key or class.
    WorkerOf(u32),
    Error(&'static str),
    /// With an error of the test's own.
    Fails(fn() -> PoolError),
    Panic(&'static str),
}

impl Outcome {
    fn failure(self) -> PoolError {
        match self {
            Self::Fails(error) => error(),
            Self::Error(message) => pool_err!(PoolErrorCode::Failed, "{}", message),
            // Without the report of a panic that nobody expects.
            Self::Panic(message) => std::panic::resume_unwind(Box::new(message.to_owned())),
            Self::Worker | Self::WorkerOf(_) => unreachable!("a worker is no failure"),
        }
    }
}

/// A factory of any pool, driven by the test. It derefs to the script of its creations.
#[derive(Clone, Default)]
pub struct Factory(Arc<Shared>);

type Hook = Arc<dyn Fn(usize) + Send + Sync>;
type Label = Arc<dyn Fn(u32) -> String + Send + Sync>;

#[derive(Default)]
struct Shared {
    creating: Script,
    recycling: Script,
    burying: Script,
    created: AtomicUsize,
    destroyed: AtomicUsize,
    peak: AtomicUsize,
    workers: Mutex<Vec<Arc<WorkerState>>>,
    hooks: Mutex<HashMap<Callback, Hook>>,
    label: Mutex<Option<Label>>,
}

/// How the calls of one of the factory's methods end.
#[derive(Default)]
pub struct Script {
    calls: AtomicUsize,
    is_gated: AtomicBool,
    gate: Mutex<VecDeque<oneshot::Sender<Outcome>>>,
    next: Mutex<VecDeque<Outcome>>,
    always: Mutex<Option<Outcome>>,
}

impl Script {
    /// From now on each call waits until the test ends it.
    pub fn gate(&self) {
        self.is_gated.store(true, SeqCst);
    }

    /// From now on calls end at once again.
    pub fn open_gate(&self) {
        self.is_gated.store(false, SeqCst);
    }

    /// How many calls wait at the gate, those cancelled not counted.
    pub fn waiting(&self) -> usize {
        let mut gate = self.gate.lock().unwrap();
        gate.retain(|call| !call.is_closed());
        gate.len()
    }

    /// Ends the oldest call at the gate.
    #[track_caller]
    pub fn end(&self, outcome: Outcome) {
        assert!(self.waiting() > 0, "no call is under way");
        let call = self.gate.lock().unwrap().pop_front().unwrap();
        call.send(outcome).unwrap();
    }

    /// Ends the next call that is not gated like this.
    pub fn next(&self, outcome: Outcome) {
        self.next.lock().unwrap().push_back(outcome);
    }

    /// Forgets how the next calls were to end.
    pub fn forget_script(&self) {
        self.next.lock().unwrap().clear();
    }

    /// Ends every call like this for which nothing else was said; `None`: with a worker.
    pub fn always(&self, outcome: Option<Outcome>) {
        *self.always.lock().unwrap() = outcome;
    }

    /// How many calls there were.
    pub fn calls(&self) -> usize {
        self.calls.load(SeqCst)
    }

    async fn outcome(&self) -> Outcome {
        let scripted = self.next.lock().unwrap().pop_front();
        if let Some(outcome) = scripted {
            outcome
        } else if self.is_gated.load(SeqCst) {
            let (end, ended) = oneshot::channel();
            self.gate.lock().unwrap().push_back(end);
            ended.await.expect("the test ends each call")
        } else {
            self.always.lock().unwrap().unwrap_or(Outcome::Worker)
        }
    }
}

impl Deref for Factory {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.0.creating
    }
}

impl Factory {
    /// How the calls of `recycle` end.
    pub fn recycling(&self) -> &Script {
        &self.0.recycling
    }

    /// How the calls of `destroy` end; with a worker, or by a panic.
    pub fn burying(&self) -> &Script {
        &self.0.burying
    }

    /// Runs `hook` with the worker's number at each call of `callback`. For `Create` it is the
    /// number of the call.
    pub fn on(&self, callback: Callback, hook: impl Fn(usize) + Send + Sync + 'static) {
        self.0.hooks.lock().unwrap().insert(callback, Arc::new(hook));
    }

    pub fn no_longer_on(&self, callback: Callback) {
        self.0.hooks.lock().unwrap().remove(&callback);
    }

    /// From now on a key or class is called so.
    pub fn call_keys(&self, label: impl Fn(u32) -> String + Send + Sync + 'static) {
        *self.0.label.lock().unwrap() = Some(Arc::new(label));
    }

    pub fn created(&self) -> usize {
        self.0.created.load(SeqCst)
    }

    pub fn destroyed(&self) -> usize {
        self.0.destroyed.load(SeqCst)
    }

    pub fn live(&self) -> usize {
        self.created() - self.destroyed()
    }

    /// The most workers that ever lived at a time.
    pub fn peak(&self) -> usize {
        self.0.peak.load(SeqCst)
    }

    /// The worker that was created as the `id`-th, from 0.
    pub fn worker(&self, id: usize) -> Arc<WorkerState> {
        Arc::clone(&self.0.workers.lock().unwrap()[id])
    }

    /// How many live workers name this key or class.
    pub fn live_of(&self, key: u32) -> usize {
        let workers = self.0.workers.lock().unwrap();
        let is_of = |worker: &&Arc<WorkerState>| {
            !worker.is_destroyed.load(SeqCst) && worker.key.load(SeqCst) == key
        };
        workers.iter().filter(is_of).count()
    }

    fn call(&self, callback: Callback, id: usize) {
        let hook = self.0.hooks.lock().unwrap().get(&callback).cloned();
        if let Some(hook) = hook {
            hook(id);
        }
    }

    fn name_of(&self, key: u32) -> Option<String> {
        let label = self.0.label.lock().unwrap().clone();
        label.map(|label| label(key))
    }

    async fn make(&self, key: Option<u32>) -> PoolResult<TestWorker> {
        let call = self.0.creating.calls.fetch_add(1, SeqCst);
        self.call(Callback::Create, call);
        match self.0.creating.outcome().await {
            Outcome::Worker => Ok(self.worker_of(key.unwrap_or(0))),
            Outcome::WorkerOf(key) => Ok(self.worker_of(key)),
            outcome => Err(outcome.failure()),
        }
    }

    async fn reset(&self, id: usize) -> PoolResult<()> {
        self.0.recycling.calls.fetch_add(1, SeqCst);
        self.call(Callback::Recycle, id);
        match self.0.recycling.outcome().await {
            Outcome::Worker | Outcome::WorkerOf(_) => Ok(()),
            outcome => Err(outcome.failure()),
        }
    }

    async fn bury(&self, worker: TestWorker) {
        self.0.burying.calls.fetch_add(1, SeqCst);
        self.call(Callback::Destroy, worker.id());
        if let outcome @ Outcome::Panic(_) = self.0.burying.outcome().await {
            outcome.failure();
        }
        drop(worker);
    }

    fn worker_of(&self, key: u32) -> TestWorker {
        let mut workers = self.0.workers.lock().unwrap();
        let state = Arc::new(WorkerState {
            id: workers.len(),
            is_well: AtomicBool::new(true),
            key: AtomicU32::new(key),
            serves_own: AtomicBool::new(true),
            serves: Mutex::default(),
            is_destroyed: AtomicBool::new(false),
        });
        workers.push(Arc::clone(&state));
        self.0.created.fetch_add(1, SeqCst);
        self.0.peak.fetch_max(self.live(), SeqCst);
        TestWorker { state, factory: self.clone() }
    }
}

impl WorkerState {
    /// From now on it is not well.
    pub fn kill(&self) {
        self.is_well.store(false, SeqCst);
    }

    /// From now on it names another key or class as its own.
    pub fn change_key(&self, key: u32) {
        self.key.store(key, SeqCst);
    }

    /// From now on it serves this key or class as well.
    pub fn also_serve(&self, key: u32) {
        self.serves.lock().unwrap().push(key);
    }

    /// From now on it denies the key or class that it names.
    pub fn deny_own(&self) {
        self.serves_own.store(false, SeqCst);
    }
}

impl TestWorker {
    pub fn id(&self) -> usize {
        self.state.id
    }

    fn answer_is_work(&self) -> bool {
        self.factory.call(Callback::IsWork, self.id());
        self.state.is_well.load(SeqCst)
    }

    fn answer_serves(&self, key: u32) -> bool {
        self.factory.call(Callback::Serves, self.id());
        if key == self.state.key.load(SeqCst) {
            return self.state.serves_own.load(SeqCst);
        }
        self.state.serves.lock().unwrap().contains(&key)
    }

    fn answer_key(&self) -> u32 {
        self.factory.call(Callback::Names, self.id());
        self.state.key.load(SeqCst)
    }
}

impl Drop for TestWorker {
    fn drop(&mut self) {
        // Counts even if the hook panics.
        struct Count<'a>(&'a TestWorker);
        impl Drop for Count<'_> {
            fn drop(&mut self) {
                let twice = self.0.state.is_destroyed.swap(true, SeqCst);
                assert!(!twice, "a worker is destroyed once");
                self.0.factory.0.destroyed.fetch_add(1, SeqCst);
            }
        }
        let _count = Count(self);
        self.factory.call(Callback::Drop, self.id());
    }
}

impl Worker for TestWorker {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }
}

impl KeyedWorker<u32> for TestWorker {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }

    fn supports(&self, key: u32) -> bool {
        self.answer_serves(key)
    }

    fn primary_key(&self) -> u32 {
        self.answer_key()
    }
}

impl ClassifiedWorker<u32> for TestWorker {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }

    fn is_valid(&self, class: u32) -> bool {
        self.answer_serves(class)
    }

    fn classification(&self) -> u32 {
        self.answer_key()
    }
}

#[async_trait]
impl WorkerFactory<TestWorker> for Factory {
    async fn create(&self) -> PoolResult<TestWorker> {
        self.make(None).await
    }

    async fn recycle(&self, worker: &mut TestWorker) -> PoolResult<()> {
        self.reset(worker.id()).await
    }

    async fn destroy(&self, worker: TestWorker) {
        self.bury(worker).await;
    }
}

#[async_trait]
impl KeyedWorkerFactory<u32, TestWorker> for Factory {
    async fn create(&self, key: u32) -> PoolResult<TestWorker> {
        self.make(Some(key)).await
    }

    async fn recycle(&self, worker: &mut TestWorker) -> PoolResult<()> {
        self.reset(worker.id()).await
    }

    async fn destroy(&self, worker: TestWorker) {
        self.bury(worker).await;
    }

    fn label(&self, key: &u32) -> Option<String> {
        self.name_of(*key)
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<u32, TestWorker> for Factory {
    async fn create(&self, class: Option<u32>) -> PoolResult<TestWorker> {
        self.make(class).await
    }

    async fn recycle(&self, worker: &mut TestWorker) -> PoolResult<()> {
        self.reset(worker.id()).await
    }

    async fn destroy(&self, worker: TestWorker) {
        self.bury(worker).await;
    }

    fn label(&self, key: &u32) -> Option<String> {
        self.name_of(*key)
    }
}
