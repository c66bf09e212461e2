//! Destructors that panic, of what a factory is made of: itself, its future, its worker.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use common::{in_own_process, panic_of};
use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};

/// What panics, and how many workers live.
#[derive(Clone, Default)]
struct Plan(Arc<Switches>);

#[derive(Default)]
struct Switches {
    factory_drop: AtomicBool,
    future_poll: AtomicBool,
    future_pends: AtomicBool,
    future_drop: AtomicBool,
    worker_drop: AtomicBool,
    live: AtomicUsize,
}

fn check(switch: &AtomicBool, name: &str) {
    assert!(!switch.load(SeqCst), "{name}");
}

struct Brittle(Plan);

impl Worker for Brittle {
    fn is_work(&self) -> bool {
        true
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        self.0.0.live.fetch_sub(1, SeqCst);
        check(&self.0.0.worker_drop, "worker");
    }
}

struct BrittleFactory(Plan);

impl Drop for BrittleFactory {
    fn drop(&mut self) {
        check(&self.0.0.factory_drop, "factory");
    }
}

struct Creation(Plan);

impl Future for Creation {
    type Output = PoolResult<Brittle>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        check(&self.0.0.future_poll, "create");
        if self.0.0.future_pends.load(SeqCst) {
            return Poll::Pending;
        }
        self.0.0.live.fetch_add(1, SeqCst);
        Poll::Ready(Ok(Brittle(self.0.clone())))
    }
}

impl Drop for Creation {
    fn drop(&mut self) {
        check(&self.0.0.future_drop, "future");
    }
}

/// As the attribute would write it, with a future that has a destructor of its own.
impl WorkerFactory<Brittle> for BrittleFactory {
    fn create<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = PoolResult<Brittle>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(Creation(self.0.clone()))
    }
}

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// PN-1
#[test]
fn a_creations_future_that_panics_when_it_is_dropped_costs_neither_slot_nor_worker() {
    let plan = Plan::default();
    let pool = WorkerPool::new(1, BrittleFactory(plan.clone()));
    plan.0.future_drop.store(true, SeqCst);
    assert_eq!(panic_of(|| _ = poll(pool.get_worker())).as_deref(), Some("future"));
    assert_eq!(plan.0.live.load(SeqCst), 0, "what it had made is destroyed");
    plan.0.future_drop.store(false, SeqCst);
    assert!(poll(pool.get_worker()).is_ready());
}

/// PN-2
#[test]
fn a_creation_and_its_future_that_both_panic_do_not_abort() {
    in_own_process("a_creation_and_its_future_that_both_panic_do_not_abort", || {
        let plan = Plan::default();
        let pool = WorkerPool::new(1, BrittleFactory(plan.clone()));
        plan.0.future_poll.store(true, SeqCst);
        plan.0.future_drop.store(true, SeqCst);
        assert_eq!(panic_of(|| _ = poll(pool.get_worker())).as_deref(), Some("create"));
    });
}

/// PN-2
#[test]
fn a_creations_future_may_panic_when_it_is_dropped_by_a_panic() {
    in_own_process("a_creations_future_may_panic_when_it_is_dropped_by_a_panic", || {
        let plan = Plan::default();
        let pool = WorkerPool::new(1, BrittleFactory(plan.clone()));
        plan.0.future_pends.store(true, SeqCst);
        plan.0.future_drop.store(true, SeqCst);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            let mut get = Box::pin(pool.get_worker());
            assert!(get.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            panic!("the task");
        }));
        assert!(dropped.is_err());
        plan.0.future_pends.store(false, SeqCst);
        plan.0.future_drop.store(false, SeqCst);
        assert!(poll(pool.get_worker()).is_ready());
    });
}

/// PN-2
#[test]
fn a_worker_and_its_factory_that_both_panic_when_the_pool_goes_do_not_abort() {
    in_own_process(
        "a_worker_and_its_factory_that_both_panic_when_the_pool_goes_do_not_abort",
        || {
            let plan = Plan::default();
            let pool = WorkerPool::new(1, BrittleFactory(plan.clone()));
            assert!(poll(pool.get_worker()).is_ready());
            plan.0.worker_drop.store(true, SeqCst);
            plan.0.factory_drop.store(true, SeqCst);
            assert_eq!(panic_of(|| drop(pool)).as_deref(), Some("worker"));
            assert_eq!(plan.0.live.load(SeqCst), 0);
        },
    );
}
