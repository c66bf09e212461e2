//! What is tokio's keeps the waker of whoever asked, whose destructor may panic.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use sfo_pool::PoolRetry;

use common::*;

const END: &str = "a bad end";

/// Panics when the last clone of its waker is dropped.
struct Brittle;

impl Wake for Brittle {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Brittle {
    fn drop(&mut self) {
        resume_unwind(Box::new(END));
    }
}

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A call that waits, and keeps the only clones of a waker that panics when it is dropped.
#[track_caller]
fn waits<T>(call: Call<T>) -> Pending<T> {
    let mut call = call.into_future();
    let waker = Waker::from(Arc::new(Brittle));
    assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    call
}

fn poll<T>(call: &mut Pending<T>) -> Poll<T> {
    call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Drops a call by the panic of its task.
fn drop_in_panic<T>(call: Pending<T>) {
    let task = catch_unwind(AssertUnwindSafe(|| {
        let _call = call;
        resume_unwind(Box::new("the task"));
    }));
    assert!(task.is_err());
}

fn alone<F: Future<Output = ()>>(test: &str, law: impl FnOnce() -> F + Send + 'static) {
    in_own_process(test, || watched(law));
}

laws! {
    /// PN-1
    async fn the_waker_of_a_deadline_costs_nobody_a_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut call = waits(pool.get_timeout(secs(1)));
        let next = &mut wait(1, || pool.get())[0];
        drop(holder);
        assert_eq!(panic_of(|| _ = poll(&mut call)).as_deref(), Some(END));
        assert_eq!((next.expect_worker().id(), factory.destroyed()), (0, 0));
    }

    /// PN-1
    async fn the_waker_of_a_creation_in_time_loses_no_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| options.with_creation_timeout(Some(secs(1))));
        let (pool, factory) = setup.open::<P>();
        factory.gate();
        let mut call = waits(pool.get());
        factory.end(Outcome::Worker);
        factory.open_gate();
        assert_eq!(panic_of(|| _ = poll(&mut call)).as_deref(), Some(END));
        assert_eq!((factory.created(), factory.live()), (1, 0), "what was made is destroyed");
        drop(pool.get().expect_worker());
    }
}

/// PN-2
#[test]
fn a_creation_and_the_waker_of_its_deadline_that_both_panic_do_not_abort() {
    alone("a_creation_and_the_waker_of_its_deadline_that_both_panic_do_not_abort", || async {
        let (pool, factory) = Setup::max(1).open::<General>();
        let holder = pool.get().expect_worker();
        factory.next(Outcome::Panic("create"));
        let mut call = waits(pool.get_timeout(secs(1)));
        General::discard(holder);
        assert_eq!(panic_of(|| _ = poll(&mut call)).as_deref(), Some("create"));
        drop(pool.get().expect_worker());
    });
}

/// PN-2
#[test]
fn a_task_that_panics_may_drop_a_call_whose_waker_panics_as_well() {
    alone("a_task_that_panics_may_drop_a_call_whose_waker_panics_as_well", || async {
        let (pool, factory) = Setup::max(1).open::<General>();
        factory.gate();
        drop_in_panic(waits(pool.get_timeout(secs(1))));

        let retry = PoolRetry::new(|_| true);
        let setup = Setup::max(1).with(|options| options.with_creation_retry(Some(retry)));
        let (pool, factory) = setup.open::<General>();
        factory.next(Outcome::Error("busy"));
        drop_in_panic(waits(pool.get()));
        drop(pool.get().expect_worker());

        let setup = Setup::max(1).with(|options| options.with_detached_creation(true));
        let (pool, _factory) = setup.open::<General>();
        drop_in_panic(waits(pool.get()));

        let (pool, _factory) = Setup::max(1).open::<General>();
        let _holder = pool.get().expect_worker();
        drop_in_panic(waits(pool.closed()));
        drop_in_panic(waits(pool.close_within(secs(1))));
    });
}
