//! Faults that a reader has found in code which all tests had passed; each stays found.

mod common;

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use sfo_pool::PoolErrorCode::{Cleared, Failed};
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef,
    PoolDestroyReason, PoolError, PoolObserver, PoolOptions, PoolOrigin, PoolResult, PoolRetry,
    Worker, WorkerFactory, WorkerPool, WorkerPoolConfig,
};
use tokio::runtime::Builder;

use common::*;

/// An error whose source panics when it is dropped.
#[derive(Debug)]
struct Bomb;

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bomb")
    }
}

impl Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb is dropped");
    }
}

struct Plain;

impl Worker for Plain {
    fn is_work(&self) -> bool {
        true
    }
}

/// Fails with a bomb, and then panics.
#[derive(Default)]
struct Bomber(AtomicUsize);

#[async_trait]
impl WorkerFactory<Plain> for Bomber {
    async fn create(&self) -> PoolResult<Plain> {
        match self.0.fetch_add(1, SeqCst) {
            0 => Err(PoolError::from((Failed, "no".to_owned(), Bomb))),
            _ => panic!("the second attempt"),
        }
    }
}

/// Two panics at a time would abort the process.
#[tokio::test(start_paused = true)]
async fn an_error_that_panics_as_it_goes_does_not_abort_beside_a_creation_that_panics() {
    for detached in [false, true] {
        let retry = PoolRetry::new(|_| true).with_first_delay(secs(1));
        let options = PoolOptions::default()
            .with_creation_retry(Some(retry))
            .with_detached_creation(detached);
        let limits = WorkerPoolConfig::default();
        let pool = WorkerPool::new_with_options(Bomber::default(), limits, options);
        let call = Arc::clone(&pool);
        let call = tokio::spawn(async move { call.get_worker().await.map(drop).is_ok() });
        assert!(call.await.expect_err("it has panicked").is_panic());
        assert_eq!(pool.status().total, 0);
    }
}

#[test]
fn a_detached_creation_on_a_runtime_that_has_ended_runs_inside_its_request() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let options = PoolOptions::default().with_detached_creation(true);
        let limits = WorkerPoolConfig::default();
        let pool = WorkerPool::new_with_options(PlainFactory, limits, options);
        tell.send(handle.block_on(async { pool.get_worker().await.map(drop).is_ok() }))
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true), "it does not spin");
}

struct PlainFactory;

#[async_trait]
impl WorkerFactory<Plain> for PlainFactory {
    async fn create(&self) -> PoolResult<Plain> {
        Ok(Plain)
    }
}

thread_local!(static IS_ARMED: Cell<bool> = const { Cell::new(false) });

/// A class whose comparison panics once it is armed.
#[derive(Debug, Clone)]
struct Class;

impl Hash for Class {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0.hash(state);
    }
}

impl PartialEq for Class {
    fn eq(&self, _: &Self) -> bool {
        assert!(!IS_ARMED.get(), "armed");
        true
    }
}

impl Eq for Class {}

impl ClassifiedWorker<Class> for Plain {
    fn is_work(&self) -> bool {
        true
    }

    fn is_valid(&self, _: Class) -> bool {
        true
    }

    fn classification(&self) -> Class {
        Class
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<Class, Plain> for PlainFactory {
    async fn create(&self, _: Option<Class>) -> PoolResult<Plain> {
        Ok(Plain)
    }
}

/// Which workers have come and gone.
#[derive(Default)]
struct Register(Mutex<Vec<(Option<u64>, Option<PoolDestroyReason>)>>);

impl PoolObserver for Register {
    fn created(&self, origin: &PoolOrigin<'_>, _: Duration) {
        self.0.lock().expect("no panic").push((origin.worker, None));
    }

    fn destroyed(&self, origin: &PoolOrigin<'_>, reason: PoolDestroyReason) {
        self.0.lock().expect("no panic").push((origin.worker, Some(reason)));
    }
}

#[tokio::test]
async fn a_comparison_that_panics_as_a_worker_arrives_leaves_books_and_events_balanced() {
    let register = Arc::new(Register::default());
    let options = PoolOptions::default().with_observer(register.clone());
    let limits = ClassifiedWorkerPoolConfig::default();
    let pool = ClassifiedWorkerPool::new_with_options(PlainFactory, limits, options);
    let held = pool.get_worker().await.expect("a worker");
    IS_ARMED.set(true);
    let call = catch_unwind(AssertUnwindSafe(|| {
        let mut call = Box::pin(pool.get_worker());
        call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }));
    IS_ARMED.set(false);
    assert!(call.is_err());
    let statistics = pool.statistics();
    assert_eq!((statistics.created, statistics.creations_failed), (1, 1));
    assert_eq!(statistics.created, statistics.total + statistics.destroyed_in_all());
    let events = register.0.lock().expect("no panic").clone();
    let [(first, None), (second, None), (gone, Some(PoolDestroyReason::Panicked))] = events[..]
    else {
        panic!("{events:?}");
    };
    assert!(first != second && gone == second);
    drop(held);
}

laws! {
    /// With a task that destroys, the request's dead worker is out of its hands when it enters the line.
    async fn a_clear_ends_a_request_whose_dead_worker_the_maintenance_destroys<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| {
            options
                .with_maintenance(true)
                .with_destroy_timeout(Some(secs(10)))
                .with_recycle_after(Some(Duration::ZERO))
        });
        let (pool, factory) = setup.open::<P>();
        drop(pool.take(1));
        factory.recycling().gate();
        let mut call = pool.get();
        call.expect_pending();
        let mut clear = pool.clear();
        clear.expect_pending();
        factory.recycling().end(Outcome::Worker);
        assert_eq!(call.expect_error().code(), Cleared);
        assert_eq!(pool.statistics().cleared, 1);
        let_tasks_run().await;
        clear.expect_ready();
    }
}

type OnDrop = Arc<dyn Fn() + Send + Sync>;

/// Says when it is dropped.
struct Loud {
    key: u32,
    on_drop: OnDrop,
}

impl KeyedWorker<u32> for Loud {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, key: u32) -> bool {
        self.key == key
    }

    fn primary_key(&self) -> u32 {
        self.key
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        (self.on_drop)();
    }
}

struct LoudFactory(OnDrop);

#[async_trait]
impl KeyedWorkerFactory<u32, Loud> for LoudFactory {
    async fn create(&self, key: u32) -> PoolResult<Loud> {
        Ok(Loud { key, on_drop: Arc::clone(&self.0) })
    }
}

/// A pool with an idle worker of each of so many keys, more than it has parts.
async fn loud_pool(
    on_drop: impl Fn() + Send + Sync + 'static,
) -> KeyedWorkerPoolRef<u32, Loud, LoudFactory> {
    let limits = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1));
    let pool = KeyedWorkerPool::new(LoudFactory(Arc::new(on_drop)), limits);
    for key in 1..=200 {
        drop(pool.get_worker(key).await.expect("a worker"));
    }
    pool
}

#[tokio::test]
async fn retain_goes_on_beside_a_destructor_that_panics() {
    let drops = AtomicUsize::new(0);
    let pool = loud_pool(move || assert!(drops.fetch_add(1, SeqCst) > 0, "the first")).await;
    let retained = catch_unwind(AssertUnwindSafe(|| pool.retain(|_| false)));
    assert!(retained.is_err());
    assert_eq!(pool.status().total, 0);
}

#[derive(Default)]
struct Flag(AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[tokio::test]
async fn a_clear_wakes_who_waits_before_a_destructor_of_any_part_runs() {
    let flag = Arc::new(Flag::default());
    let woken = Arc::clone(&flag);
    let pool = loud_pool(move || assert_eq!(woken.0.load(SeqCst), 1, "before the wake")).await;
    let held = pool.get_worker(0).await.expect("a worker");
    let mut waiting = Box::pin(pool.get_worker(0));
    let waker = Waker::from(Arc::clone(&flag));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let mut clear = Box::pin(pool.clear_all_worker());
    assert!(clear.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let Poll::Ready(Err(error)) = waiting.as_mut().poll(&mut Context::from_waker(&waker)) else {
        panic!("it is cleared");
    };
    assert_eq!(error.code(), Cleared);
    drop(held);
}
