//! The shell under every interleaving of a few threads, by a model checker.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom
//! ```
//!
//! A thread that is never woken is found as a deadlock, a worker that is lost by the ledger.
#![cfg(loom)]

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::time::Duration;

use loom::future::block_on;
use loom::thread;
use sfo_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig,
    KeyedWorkerPoolRef, PoolErrorCode, PoolOptions, PoolResult, Worker, WorkerFactory, WorkerPool,
    WorkerPoolConfig, WorkerPoolRef, pool_err,
};

/// Counts what is created and destroyed. It is not part of what is checked, so its atomics are
/// plain ones.
#[derive(Clone, Default)]
struct Ledger(Arc<Counts>);

#[derive(Default)]
struct Counts {
    created: AtomicUsize,
    destroyed: AtomicUsize,
    failures: AtomicUsize,
}

impl Ledger {
    /// A ledger whose first `count` creations fail.
    fn failing(count: usize) -> Self {
        let ledger = Self::default();
        ledger.0.failures.store(count, SeqCst);
        ledger
    }

    fn created(&self) -> usize {
        self.0.created.load(SeqCst)
    }

    fn make(&self, key: u32) -> PoolResult<Counted> {
        let failed = self.0.failures.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if failed.is_ok() {
            return Err(pool_err!("down"));
        }
        self.0.created.fetch_add(1, SeqCst);
        Ok(Counted(self.clone(), key))
    }

    fn live(&self) -> usize {
        self.created() - self.0.destroyed.load(SeqCst)
    }
}

/// With its key or, where there are none, the number of those before it.
struct Counted(Ledger, u32);

impl Worker for Counted {
    fn is_work(&self) -> bool {
        true
    }
}

impl KeyedWorker<u32> for Counted {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, key: u32) -> bool {
        key == self.1
    }

    fn primary_key(&self) -> u32 {
        self.1
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.destroyed.fetch_add(1, SeqCst);
    }
}

#[async_trait::async_trait]
impl WorkerFactory<Counted> for Ledger {
    async fn create(&self) -> PoolResult<Counted> {
        self.make(self.created() as u32)
    }
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<u32, Counted> for Ledger {
    async fn create(&self, key: u32) -> PoolResult<Counted> {
        self.make(key)
    }
}

type Pool = WorkerPoolRef<Counted, Ledger>;

/// Runs a scene of up to three threads with a pool of `max` workers, under every interleaving in
/// which no more than three times a thread is stopped where it could have gone on. More than that
/// takes hours; `LOOM_MAX_PREEMPTIONS` sets another bound.
fn check(max: u16, ledger: fn() -> Ledger, scene: fn(Pool, &Ledger)) {
    check_with(max, PoolOptions::default, ledger, scene);
}

/// The same with options.
fn check_with(
    max: u16,
    options: fn() -> PoolOptions,
    ledger: fn() -> Ledger,
    scene: fn(Pool, &Ledger),
) {
    explore(move || {
        let ledger = ledger();
        let config = WorkerPoolConfig::default().with_max_count(Some(max));
        let pool = WorkerPool::new_with_options(ledger.clone(), config, options());
        scene(Arc::clone(&pool), &ledger);
        if pool.is_closed() {
            assert_eq!(ledger.live(), 0, "a close ends with the last slot");
            assert_refused(get(&pool), &[PoolErrorCode::Closed]);
            return;
        }
        pool.set_max_count(Some(max)).expect("a limit that makes sense");
        let guards: Vec<_> = (0..max).map(|_| block_on(pool.get_worker())).collect();
        assert!(guards.iter().all(Result::is_ok), "the pool serves its limit again");
        assert_eq!(ledger.live(), usize::from(max));
        drop(guards);
        drop(pool);
        assert_eq!(ledger.live(), 0, "nothing outlives the pool");
    });
}

fn explore(scene: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(3);
    model.check(scene);
}

fn get(pool: &Pool) -> PoolResult<()> {
    block_on(pool.get_worker()).map(drop)
}

/// Asks, and gives up if nothing comes at once.
fn get_and_give_up(pool: &Pool) {
    let mut call = pin!(pool.get_worker());
    let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

fn run<R: 'static>(pool: &Pool, action: impl FnOnce(Pool) -> R + 'static) -> thread::JoinHandle<R> {
    let pool = Arc::clone(pool);
    thread::spawn(move || action(pool))
}

fn held(pool: &Pool) -> sfo_pool::WorkerGuard<Counted, Ledger> {
    block_on(pool.get_worker()).ok().expect("a worker")
}

fn assert_served_or_refused(outcome: PoolResult<()>) {
    assert_served_or(outcome, &[PoolErrorCode::Cleared, PoolErrorCode::Clearing]);
}

fn assert_served_or(outcome: PoolResult<()>, refusals: &[PoolErrorCode]) {
    if outcome.is_err() {
        assert_refused(outcome, refusals);
    }
}

fn assert_refused(outcome: PoolResult<()>, refusals: &[PoolErrorCode]) {
    assert!(outcome.is_err_and(|error| refusals.contains(&error.code())));
}

#[test]
fn a_return_meets_a_wait() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        drop(guard);
        assert!(waiter.join().unwrap());
        assert_eq!(ledger.created(), 1);
    });
}

#[test]
fn a_return_meets_a_cancelled_wait_and_another_one() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let first = run(&pool, |pool| get_and_give_up(&pool));
        let second = run(&pool, |pool| get(&pool).is_ok());
        drop(guard);
        first.join().unwrap();
        assert!(second.join().unwrap());
        assert_eq!(ledger.created(), 1);
    });
}

#[test]
fn two_returns_meet_two_waits() {
    check(2, Ledger::default, |pool, ledger| {
        let (one, two) = (held(&pool), held(&pool));
        let first = run(&pool, |pool| get(&pool).is_ok());
        let second = run(&pool, |pool| get(&pool).is_ok());
        drop(one);
        drop(two);
        assert!(first.join().unwrap() && second.join().unwrap());
        assert_eq!(ledger.created(), 2);
    });
}

#[test]
fn a_failed_creation_meets_a_waiter_and_a_newcomer() {
    check(
        1,
        || Ledger::failing(1),
        |pool, _| {
            let first = run(&pool, |pool| get(&pool).is_ok());
            let second = run(&pool, |pool| get(&pool).is_ok());
            let third = get(&pool).is_ok();
            let served = [first.join().unwrap(), second.join().unwrap(), third];
            assert_eq!(served.iter().filter(|&&served| served).count(), 2, "one call fails, alone");
        },
    );
}

#[test]
fn a_clear_meets_a_return_and_a_get() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let clear = run(&pool, |pool| block_on(pool.clear_all_worker()));
        let other = run(&pool, |pool| assert_served_or_refused(get(&pool)));
        drop(guard);
        clear.join().unwrap();
        other.join().unwrap();
        assert!(ledger.live() <= 1);
    });
}

#[test]
fn a_cancelled_wait_meets_a_clear() {
    check(1, Ledger::default, |pool, _| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get_and_give_up(&pool));
        let clear = run(&pool, |pool| block_on(pool.clear_all_worker()));
        drop(guard);
        waiter.join().unwrap();
        clear.join().unwrap();
    });
}

#[test]
fn a_close_meets_a_return_and_a_get() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let close = run(&pool, |pool| block_on(pool.close()));
        let other = run(&pool, |pool| assert_served_or(get(&pool), &[PoolErrorCode::Closed]));
        drop(guard);
        close.join().unwrap();
        assert_eq!(ledger.live(), 0);
        other.join().unwrap();
    });
}

#[test]
fn a_close_meets_a_clear_and_a_return() {
    check(1, Ledger::default, |pool, _| {
        let guard = held(&pool);
        let close = run(&pool, |pool| block_on(pool.close()));
        let clear = run(&pool, |pool| block_on(pool.clear_all_worker()));
        drop(guard);
        close.join().unwrap();
        clear.join().unwrap();
    });
}

#[test]
fn giving_up_all_workers_meets_a_return_and_a_wait() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        let given_up = run(&pool, |pool| pool.invalidate_all());
        drop(guard);
        given_up.join().unwrap();
        assert!(waiter.join().unwrap());
        drop(held(&pool));
        assert_eq!((ledger.created(), ledger.live()), (2, 1), "none of before is lent again");
    });
}

#[test]
fn giving_up_all_workers_meets_a_creation_and_a_wait() {
    check(1, Ledger::default, |pool, ledger| {
        let first = run(&pool, |pool| get(&pool).is_ok());
        let second = run(&pool, |pool| get(&pool).is_ok());
        pool.invalidate_all();
        assert!(first.join().unwrap() && second.join().unwrap());
        assert!(ledger.live() <= 1 && ledger.created() <= 2);
    });
}

#[test]
fn giving_up_all_workers_meets_a_recycling_and_a_wait() {
    check_with(1, recycling, Ledger::default, |pool, ledger| {
        drop(held(&pool));
        let is_done = Arc::new(AtomicBool::new(false));
        let others = [(); 2].map(|()| {
            let is_done = Arc::clone(&is_done);
            run(&pool, move |pool| {
                let guard = held(&pool);
                // Nobody can come between this and the last look at the worker.
                assert!(guard.1 > 0 || !is_done.load(SeqCst), "one of before is lent");
            })
        });
        pool.invalidate_all();
        is_done.store(true, SeqCst);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(ledger.live() <= 1 && ledger.created() <= 2);
    });
}

#[test]
fn a_recycling_meets_a_cancelled_wait_and_another_one() {
    check_with(1, recycling, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let first = run(&pool, |pool| get_and_give_up(&pool));
        let second = run(&pool, |pool| get(&pool).is_ok());
        drop(guard);
        first.join().unwrap();
        assert!(second.join().unwrap());
        assert_eq!(ledger.created(), 1);
    });
}

fn recycling() -> PoolOptions {
    PoolOptions::default().with_recycle_after(Some(Duration::ZERO))
}

fn resize(pool: &Pool, max: u16) {
    pool.set_max_count(Some(max)).expect("a limit that makes sense");
}

#[test]
fn a_limit_that_shrinks_meets_two_returns_and_a_wait() {
    check(2, Ledger::default, |pool, ledger| {
        let (one, two) = (held(&pool), held(&pool));
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        let shrink = run(&pool, |pool| resize(&pool, 1));
        drop(one);
        drop(two);
        shrink.join().unwrap();
        assert!(waiter.join().unwrap());
        assert!(ledger.live() <= 1, "what was too many has gone");
    });
}

#[test]
fn a_limit_that_grows_meets_a_return_and_a_wait() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        let grow = run(&pool, |pool| resize(&pool, 2));
        drop(guard);
        grow.join().unwrap();
        assert!(waiter.join().unwrap());
        assert!(ledger.created() <= 2);
    });
}

#[test]
fn a_limit_that_grows_serves_a_wait_without_a_return() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        let resizes = run(&pool, |pool| {
            resize(&pool, 2);
            resize(&pool, 1);
            resize(&pool, 2);
        });
        assert!(waiter.join().unwrap());
        resizes.join().unwrap();
        assert_eq!(ledger.created(), 2);
        drop(guard);
    });
}

#[test]
fn a_try_meets_a_return_and_a_wait() {
    check(1, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let waiter = run(&pool, |pool| get(&pool).is_ok());
        let tries = run(&pool, |pool| pool.try_get_worker().map(drop).is_ok());
        drop(guard);
        assert!(tries.join().unwrap() && waiter.join().unwrap());
        assert_eq!(ledger.created(), 1);
    });
}

#[test]
fn two_tries_beside_a_return_find_what_is_idle() {
    check(2, Ledger::default, |pool, ledger| {
        let (one, two) = (held(&pool), held(&pool));
        drop(one);
        let other = run(&pool, |pool| pool.try_get_worker().ok().flatten());
        let returns = thread::spawn(move || drop(two));
        let mine = pool.try_get_worker().ok().flatten();
        let others = other.join().unwrap();
        returns.join().unwrap();
        assert!(mine.is_some() || others.is_some(), "one was idle all the time");
        assert_eq!(ledger.live(), 2);
    });
}

#[test]
fn a_question_to_all_that_are_idle_meets_a_get() {
    check(1, Ledger::default, |pool, ledger| {
        drop(held(&pool));
        let asks = run(&pool, |pool| pool.retain(|_| true).removed);
        let first = run(&pool, |pool| get(&pool).is_ok());
        assert!(get(&pool).is_ok() && first.join().unwrap());
        assert_eq!((asks.join().unwrap(), ledger.created()), (0, 1));
    });
}

#[test]
fn a_question_that_denies_all_meets_a_get_and_a_cancelled_one() {
    check(1, Ledger::default, |pool, ledger| {
        drop(held(&pool));
        let asks = run(&pool, |pool| pool.retain(|_| false).removed);
        let first = run(&pool, |pool| get_and_give_up(&pool));
        assert!(get(&pool).is_ok());
        first.join().unwrap();
        assert!(ledger.created() <= 1 + asks.join().unwrap());
    });
}

#[test]
fn a_question_to_all_that_are_idle_meets_a_close() {
    check(1, Ledger::default, |pool, _| {
        drop(held(&pool));
        let asks = run(&pool, |pool| _ = pool.retain(|_| true));
        block_on(pool.close());
        asks.join().unwrap();
    });
}

#[test]
fn a_line_of_one_place_meets_two_gets_and_a_return() {
    let options = || PoolOptions::default().with_max_waiting_count(Some(1));
    check_with(1, options, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let others = [(); 2].map(|()| run(&pool, |pool| get(&pool)));
        drop(guard);
        let outcomes = others.map(|other| other.join().unwrap());
        assert!(outcomes.iter().any(Result::is_ok), "only the other one may be in the way");
        outcomes.into_iter().for_each(|outcome| assert_served_or(outcome, &[PoolErrorCode::Full]));
        assert_eq!(ledger.created(), 1);
    });
}

#[test]
fn the_last_use_of_a_worker_meets_two_waits() {
    let options = || PoolOptions::default().with_max_use_count(Some(1));
    check_with(1, options, Ledger::default, |pool, ledger| {
        let guard = held(&pool);
        let first = run(&pool, |pool| get(&pool).is_ok());
        let second = run(&pool, |pool| get(&pool).is_ok());
        drop(guard);
        assert!(first.join().unwrap() && second.join().unwrap());
        assert_eq!((ledger.created(), ledger.live()), (3, 0));
    });
}

#[test]
fn a_worker_in_advance_meets_a_get_and_a_cancelled_one() {
    check(1, Ledger::default, |pool, ledger| {
        let warms = run(&pool, |pool| block_on(pool.prewarm(1)).is_ok());
        let first = run(&pool, |pool| get_and_give_up(&pool));
        assert!(get(&pool).is_ok() && warms.join().unwrap());
        first.join().unwrap();
        assert_eq!(ledger.created(), 1);
    });
}

type Divided = KeyedWorkerPoolRef<u32, Counted, Ledger>;

/// The same with a pool in two parts and a key in each of them.
fn check_divided(scene: fn(&Divided, [u32; 2], &Ledger)) {
    explore(move || {
        let ledger = Ledger::default();
        let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1));
        let pool = KeyedWorkerPool::new(ledger.clone(), config);
        let keys = [0, 1].map(|part| (0..).find(|&key| part_of(key) == part).expect("a key"));
        scene(&pool, keys, &ledger);
        if pool.is_closed() {
            return assert_eq!(ledger.live(), 0, "a close ends with the last slot of all parts");
        }
        let guards = keys.map(|key| block_on(pool.get_worker(key)));
        assert!(guards.iter().all(Result::is_ok), "both parts are open");
        drop((guards, pool));
        assert_eq!(ledger.live(), 0, "nothing outlives the pool");
    });
}

/// As the pool itself says under the model checker.
fn part_of(key: u32) -> u64 {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
    (hash >> 32) % 2
}

fn hold(pool: &Divided, key: u32) -> KeyedWorkerGuard<u32, Counted, Ledger> {
    block_on(pool.get_worker(key)).ok().expect("a worker")
}

fn in_thread(pool: &Divided, act: impl FnOnce(Divided) + 'static) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || act(pool))
}

#[test]
fn a_clear_of_two_parts_meets_the_last_return_of_each() {
    check_divided(|pool, keys, ledger| {
        let [one, two] = keys.map(|key| hold(pool, key));
        let first = thread::spawn(move || drop(one));
        let second = thread::spawn(move || drop(two));
        block_on(pool.clear_all_worker());
        assert_eq!(ledger.live(), 0, "a clear ends with the last slot of all parts");
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn a_clear_of_two_parts_keeps_the_empty_one_closed() {
    check_divided(|pool, keys, ledger| {
        let guard = hold(pool, keys[0]);
        let other = in_thread(pool, move |pool| {
            assert_served_or_refused(block_on(pool.get_worker(keys[1])).map(drop));
        });
        let returns = thread::spawn(move || drop(guard));
        block_on(pool.clear_all_worker());
        other.join().unwrap();
        returns.join().unwrap();
        assert!(ledger.live() <= 1);
    });
}

#[test]
fn an_abandoned_clear_of_two_parts_meets_another_one() {
    check_divided(|pool, keys, _| {
        let guard = hold(pool, keys[0]);
        let abandoned = in_thread(pool, |pool| {
            let mut clear = pin!(pool.clear_all_worker());
            let _ = clear.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        let clear = in_thread(pool, |pool| block_on(pool.clear_all_worker()));
        drop(guard);
        abandoned.join().unwrap();
        clear.join().unwrap();
    });
}

#[test]
fn a_close_of_two_parts_meets_a_return_and_a_get_for_the_empty_one() {
    check_divided(|pool, keys, ledger| {
        let guard = hold(pool, keys[0]);
        let other = in_thread(pool, move |pool| {
            let outcome = block_on(pool.get_worker(keys[1])).map(drop);
            assert_served_or(outcome, &[PoolErrorCode::Closed]);
        });
        let returns = thread::spawn(move || drop(guard));
        block_on(pool.close());
        assert_eq!(ledger.live(), 0);
        other.join().unwrap();
        returns.join().unwrap();
    });
}

#[test]
fn giving_up_the_workers_of_two_parts_meets_a_return_and_a_get() {
    check_divided(|pool, keys, ledger| {
        let guard = hold(pool, keys[0]);
        drop(hold(pool, keys[1]));
        let other = in_thread(pool, move |pool| drop(hold(&pool, keys[1])));
        let returns = thread::spawn(move || drop(guard));
        pool.invalidate_all();
        other.join().unwrap();
        returns.join().unwrap();
        drop(keys.map(|key| hold(pool, key)));
        assert_eq!((ledger.created(), ledger.live()), (4, 2), "none of before is lent again");
    });
}

#[test]
fn the_last_guard_meets_the_last_handle() {
    loom::model(|| {
        let ledger = Ledger::default();
        let pool = WorkerPool::new(2, ledger.clone());
        let (idle, guard) = (held(&pool), held(&pool));
        drop(idle);
        let last_guard = thread::spawn(move || drop(guard));
        drop(pool);
        last_guard.join().unwrap();
        assert_eq!(ledger.live(), 0, "nothing outlives the pool and its guards");
    });
}

#[test]
fn an_expiry_meets_a_get() {
    loom::model(|| {
        let ledger = Ledger::default();
        let config = WorkerPoolConfig::default()
            .with_max_count(Some(1))
            .with_idle_timeout(Some(Duration::ZERO));
        let pool = WorkerPool::new_with_config(ledger.clone(), config);
        drop(held(&pool));
        let cleanup = run(&pool, |pool| pool.cleanup_idle_worker());
        assert!(get(&pool).is_ok());
        assert!(cleanup.join().unwrap() <= 2);
        assert!(ledger.live() <= 1 && ledger.created() <= 2);
        drop(pool);
        assert_eq!(ledger.live(), 0);
    });
}
