//! What a pool keeps in memory, and what it allocates.

mod common;

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use common::*;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult, Worker,
    WorkerFactory, WorkerPool, pool_err,
};

laws! {
    /// D4, CX-1
    async fn cancelled_waiters_leave_no_memory_behind<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let _holder = pool.get().expect_worker();
        let info = measure(|| drop(wait(20_000, || pool.get())));
        assert!(info.bytes_current < 4096, "{info:?}");
    }

    /// D28
    async fn a_new_pool_reserves_nothing_for_its_limits<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let size = |max| measure(|| drop(Setup::max(max).max_idle(max).open::<P>())).bytes_max;
        // What all pools share is there once.
        size(1);
        assert_eq!(size(u16::MAX), size(1));
    }
}

#[test]
fn a_warm_get_and_drop_allocate_nothing_however_many_are_idle() {
    watched(|| async {
        for idle in 1..=200 {
            let general = with_idle::<General>(Setup::default(), idle).0;
            let keyed = with_idle::<Keyed>(Setup::default().idle_timeout(10), idle).0;
            let classified = with_idle::<Classified>(Setup::default(), idle).0;
            let allocations = [
                allocations(|| general.get_worker()),
                allocations(|| keyed.get_worker(ONE)),
                allocations(|| classified.get_classified_worker(ONE)),
                allocations(|| classified.get_worker()),
            ];
            assert_eq!(allocations, [0; 4], "{idle} idle");
        }
    });
}

fn with_idle<P: TestPool>(setup: Setup, idle: usize) -> P {
    let (pool, _factory) = setup.open::<P>();
    drop(pool.take(idle));
    pool
}

/// How often getting and dropping a worker allocates, ten times in a row.
fn allocations<G: Future>(get: impl Fn() -> G) -> u64 {
    let info = measure(|| {
        for _ in 0..10 {
            let get = pin!(get());
            assert!(get.poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
    });
    info.count_total
}

/// A worker of which no ledger is kept.
struct Lean {
    key: u32,
    is_well: Cell<bool>,
}

/// Fails for every seventh key.
struct LeanFactory;

impl LeanFactory {
    fn make(key: u32) -> PoolResult<Lean> {
        if key % 7 == 6 {
            Err(pool_err!("down"))
        } else {
            Ok(Lean { key, is_well: Cell::new(true) })
        }
    }
}

impl Worker for Lean {
    fn is_work(&self) -> bool {
        self.is_well.get()
    }
}

impl KeyedWorker<u32> for Lean {
    fn is_work(&self) -> bool {
        self.is_well.get()
    }

    fn supports(&self, key: u32) -> bool {
        key == self.key
    }

    fn primary_key(&self) -> u32 {
        self.key
    }
}

impl ClassifiedWorker<u32> for Lean {
    fn is_work(&self) -> bool {
        self.is_well.get()
    }

    fn is_valid(&self, class: u32) -> bool {
        class == self.key
    }

    fn classification(&self) -> u32 {
        self.key
    }
}

#[async_trait::async_trait]
impl WorkerFactory<Lean> for LeanFactory {
    async fn create(&self) -> PoolResult<Lean> {
        Self::make(0)
    }
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<u32, Lean> for LeanFactory {
    async fn create(&self, key: u32) -> PoolResult<Lean> {
        Self::make(key)
    }
}

#[async_trait::async_trait]
impl ClassifiedWorkerFactory<u32, Lean> for LeanFactory {
    async fn create(&self, class: Option<u32>) -> PoolResult<Lean> {
        Self::make(class.unwrap_or(0))
    }
}

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A worker that takes much room.
struct Large(#[allow(dead_code, reason = "it is there for its size")] [u8; 4096]);

impl Worker for Large {
    fn is_work(&self) -> bool {
        true
    }
}

struct LargeFactory;

#[async_trait::async_trait]
impl WorkerFactory<Large> for LargeFactory {
    async fn create(&self) -> PoolResult<Large> {
        Ok(Large([0; 4096]))
    }
}

/// What each of so many keeps, beside what there is only once.
fn kept_by_each(count: u32, keep: impl FnOnce()) -> i64 {
    measure(keep).bytes_current / i64::from(count)
}

/// The target M of doc/benchmarks.md, as all the bounds that follow.
const MANY: u32 = 10_000;

#[test]
fn an_empty_pool_keeps_at_most_1024_bytes() {
    watched(|| async {
        let mut pools = Vec::with_capacity(MANY as usize);
        let each = kept_by_each(MANY, || {
            pools.extend((0..MANY).map(|_| WorkerPool::new(16, LeanFactory)));
        });
        assert!(each <= 1024, "{each}");
    });
}

#[test]
fn an_idle_worker_of_a_word_keeps_at_most_40_bytes() {
    watched(|| async {
        let pool = WorkerPool::new(MANY as u16, LeanFactory);
        let each = kept_by_each(MANY, || {
            drop((0..MANY).map(|_| poll(pool.get_worker())).collect::<Vec<_>>());
        });
        assert!(each <= 40, "{each}");
    });
}

#[test]
fn a_waiter_keeps_at_most_200_bytes_beside_its_future_whatever_the_worker_takes() {
    fn kept<W: Worker>(factory: impl WorkerFactory<W>) -> i64 {
        let pool = WorkerPool::new(1, factory);
        let held = poll(pool.get_worker());
        let mut waiting: Vec<_> = (0..MANY).map(|_| Box::pin(pool.get_worker())).collect();
        let each = kept_by_each(MANY, || {
            assert!(waiting.iter_mut().all(|call| poll(call).is_pending()));
        });
        drop(held);
        each
    }

    watched(|| async {
        let (lean, large) = (kept(LeanFactory), kept(LargeFactory));
        assert!(lean <= 200, "{lean}");
        assert_eq!(lean, large);
    });
}

#[test]
fn a_key_with_an_idle_worker_of_a_word_keeps_at_most_200_bytes() {
    watched(|| async {
        let limits = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(4));
        let pool = KeyedWorkerPool::new(LeanFactory, limits);
        // Every seventh fails.
        let keys = (0..).filter(|key| key % 7 != 6).take(MANY as usize);
        let each = kept_by_each(MANY, || keys.for_each(|key| drop(poll(pool.get_worker(key)))));
        assert!(each <= 200, "{each}");
    });
}

/// Lets a crowd borrow, wait, be handed workers, return them and go, and shows that the room for it
/// goes as well.
macro_rules! a_crowd {
    ($room:expr, $pool:expr, |$get:ident, $member:ident| $got:expr) => {
        watched(|| async {
            let pool = $pool;
            let get = |$member: u32| {
                let $get = &pool;
                Box::pin($got)
            };
            let info = measure(|| {
                let held: Vec<_> = (0..CROWD).map(|member| poll(get(member))).collect();
                let mut waiting: Vec<_> = (0..CROWD).map(get).collect();
                assert!(waiting.iter_mut().all(|call| poll(call).is_pending()));
                drop(held);
                drop(waiting.iter_mut().map(poll).collect::<Vec<_>>());
                drop(waiting);
                assert!(poll(pool.clear_all_worker()).is_ready());
            });
            assert!(info.bytes_current < $room, "{info:?}");
        });
    };
}

const CROWD: u32 = 20_000;

/// A collection is not worth shrinking below some thirty places.
const FEW_PLACES: i64 = 4096;

/// What is counted stays: most of it is the histogram of waits.
const COUNTS: i64 = 4608;

/// How many parts a keyed pool has at the most.
const PARTS: i64 = 64;

#[test]
fn a_crowd_leaves_no_room_behind_in_a_general_pool() {
    a_crowd!(FEW_PLACES + COUNTS, WorkerPool::new(CROWD as u16, LeanFactory), |pool, _member| pool
        .get_worker());
}

#[test]
fn a_crowd_leaves_no_room_behind_under_one_key() {
    let limits = KeyedWorkerPoolConfig::default()
        .with_max_count_per_key(Some(CROWD as u16))
        .with_idle_timeout(Some(Duration::from_secs(1)));
    a_crowd!(FEW_PLACES + COUNTS, KeyedWorkerPool::new(LeanFactory, limits), |pool, _member| pool
        .get_worker(ONE));
}

#[test]
fn a_crowd_leaves_no_room_behind_under_as_many_keys() {
    let limits = KeyedWorkerPoolConfig::default()
        .with_max_count_per_key(Some(1))
        .with_idle_timeout(Some(Duration::from_secs(1)));
    a_crowd!(
        PARTS * (FEW_PLACES + COUNTS),
        KeyedWorkerPool::new(LeanFactory, limits),
        |pool, member| pool.get_worker(7 * member)
    );
}

#[test]
fn a_crowd_leaves_no_room_behind_in_as_many_classes() {
    let limits = ClassifiedWorkerPoolConfig::default().with_max_count(Some(CROWD as u16));
    a_crowd!(
        FEW_PLACES + COUNTS,
        ClassifiedWorkerPool::new(LeanFactory, limits),
        |pool, member| pool.get_classified_worker(7 * member)
    );
}

/// Runs every kind of operation a million times, and shows that no memory is left from it.
macro_rules! a_million_operations {
    ($room:expr, $pool:expr, |$get:ident, $round:ident| $got:expr) => {
        watched(|| async {
            let pool = $pool;
            let get = |$round: u32| {
                let $get = &pool;
                $got
            };
            let operate = |round: u32| match round % 6 {
                0 => drop(poll(get(round))),
                1 => {
                    // Held, waited for in vain, and dead in the end.
                    let held = poll(get(round));
                    drop(poll(get(round)));
                    if let Poll::Ready(Ok(worker)) = held {
                        worker.is_well.set(false);
                    }
                }
                2 => {
                    let held = [poll(get(round)), poll(get(round + 1)), poll(get(round + 2))];
                    _ = poll(pool.clear_all_worker());
                    drop(held);
                }
                3 => _ = pool.cleanup_idle_worker(),
                4 => drop(get(round)),
                _ => assert!(poll(pool.clear_all_worker()).is_ready()),
            };
            // Both end with a clear, so that they leave the pool in the same state.
            (0..12_000).for_each(operate);
            let info = measure(|| (12_000..1_012_002).for_each(operate));
            assert!(info.bytes_current.abs() <= $room, "{info:?}");
        });
    };
}

#[test]
fn a_million_operations_of_a_general_pool_leave_nothing() {
    a_million_operations!(0, WorkerPool::new(2, LeanFactory), |pool, _round| pool.get_worker());
}

#[test]
fn a_million_operations_of_a_keyed_pool_with_as_many_keys_leave_nothing() {
    let limits = KeyedWorkerPoolConfig::default()
        .with_max_count_per_key(Some(1))
        .with_idle_timeout(Some(Duration::ZERO));
    // What a part has room for depends on how many keys met there by chance.
    a_million_operations!(
        PARTS * FEW_PLACES,
        KeyedWorkerPool::new(LeanFactory, limits),
        |pool, round| pool.get_worker(round)
    );
}

#[test]
fn a_million_operations_of_a_classified_pool_with_as_many_classes_leave_nothing() {
    let limits = ClassifiedWorkerPoolConfig::default()
        .with_max_count(Some(2))
        .with_max_count_per_classification(Some(1));
    a_million_operations!(0, ClassifiedWorkerPool::new(LeanFactory, limits), |pool, round| pool
        .get_classified_worker(round));
}
