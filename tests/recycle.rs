//! A worker may be recycled before its next use; if that fails, another one is used.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Cleared, Closed};
use tokio::time::advance;

use common::*;

/// Recycles what has been idle for at least so many seconds.
fn recycling(max: u16, after: u64) -> Setup {
    Setup::max(max).with(|options| options.with_recycle_after(Some(secs(after))))
}

/// The workers that are recycled, in order.
fn record(factory: &Factory) -> Arc<Mutex<Vec<usize>>> {
    let record = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&record);
    factory.on(Callback::Recycle, move |id| list.lock().unwrap().push(id));
    record
}

/// A pool with one worker, which is being recycled for a request.
#[track_caller]
fn at_recycling<P: TestPool>() -> (P, Factory, Get<P>) {
    let (pool, factory) = recycling(1, 0).open::<P>();
    drop(pool.get().expect_worker());
    factory.recycling().gate();
    let mut call = pool.get();
    call.expect_pending();
    assert_eq!(factory.recycling().waiting(), 1);
    (pool, factory, call)
}

laws! {
    async fn each_reuse_is_recycled_and_a_fresh_worker_is_not<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycling(2, 0).open::<P>();
        let recycled = record(&factory);
        drop(pool.take(2));
        assert_eq!(*recycled.lock().unwrap(), []);
        drop(pool.take(2));
        assert_eq!(*recycled.lock().unwrap(), [1, 0]);

        let mut guards = pool.take(2);
        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(guards.remove(0));
        assert_eq!(waiter.expect_worker().id(), 0);
        assert_eq!(recycled.lock().unwrap()[2..], [0, 1, 0], "from hand to hand as well");
        assert_eq!(factory.calls(), 2);
    }

    async fn only_what_was_idle_for_so_long_is_recycled<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycling(1, 10).open::<P>();
        drop(pool.get().expect_worker());
        advance(secs(10) - Duration::from_nanos(1)).await;
        let holder = pool.get().expect_worker();
        advance(secs(20)).await;
        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(holder);
        drop(waiter.expect_worker());
        assert_eq!(factory.recycling().calls(), 0);
        advance(secs(10)).await;
        drop(pool.get().expect_worker());
        assert_eq!((factory.recycling().calls(), factory.calls()), (1, 1));
    }

    async fn without_the_option_nothing_is_recycled<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for setup in [Setup::max(1), recycling(1, u64::MAX)] {
            let setup = setup.with(|options| options.with_recycle_timeout(Some(secs(1))));
            let (pool, factory) = setup.open::<P>();
            for _ in 0..3 {
                let holder = pool.get().expect_worker();
                let mut waiter = wait(1, || pool.get()).remove(0);
                drop(holder);
                drop(waiter.expect_worker());
                advance(secs(1_000_000_000)).await;
            }
            assert_eq!((factory.recycling().calls(), factory.calls()), (0, 1));
        }
    }

    async fn after_an_error_the_same_request_goes_on_with_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycling(3, 0).open::<P>();
        let recycled = record(&factory);
        drop(pool.take(3));
        factory.recycling().next(Outcome::Error("stale"));
        factory.recycling().next(Outcome::Error("stale"));
        assert_eq!(pool.get().expect_worker().id(), 0);
        assert_eq!(*recycled.lock().unwrap(), [2, 1, 0]);
        assert_eq!((factory.calls(), factory.destroyed()), (3, 2));

        factory.recycling().next(Outcome::Error("stale"));
        assert_eq!((pool.get().expect_worker().id(), factory.live()), (3, 1));
    }

    async fn a_request_keeps_its_place_while_its_worker_is_recycled<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut a) = at_recycling::<P>();
        let b = &mut wait(1, || pool.get())[0];
        let status = pool.status();
        assert_eq!((status.borrowed, status.idle, status.waiting), (1, 0, 1));
        factory.gate();
        factory.recycling().end(Outcome::Error("stale"));
        a.expect_pending();
        assert_eq!((factory.waiting(), factory.destroyed(), b.is_woken()), (1, 1, false));
        factory.end(Outcome::Worker);
        let guard = a.expect_worker();
        factory.recycling().open_gate();
        drop(guard);
        assert_eq!((b.expect_worker().id(), factory.calls()), (1, 2));
    }

    async fn who_was_given_one_that_cannot_be_recycled_creates_in_its_place<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycling(1, 0).open::<P>();
        let holder = pool.get().expect_worker();
        let [mut b, mut c] = wait(2, || pool.get()).try_into().ok().unwrap();
        factory.recycling().next(Outcome::Error("stale"));
        drop(holder);
        let new = b.expect_worker();
        assert_eq!((new.id(), factory.destroyed(), c.is_woken()), (1, 1, false));
        drop(new);
        assert_eq!(c.expect_worker().id(), 1);
    }

    async fn a_panic_reaches_its_caller_and_costs_the_worker_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut call) = at_recycling::<P>();
        let waiter = &mut wait(1, || pool.get())[0];
        factory.recycling().end(Outcome::Panic("a bad reset"));
        assert_eq!(panic_of(|| _ = call.poll()).as_deref(), Some("a bad reset"));
        drop(call);
        assert_eq!((factory.live(), pool.status().total), (0, 1), "the next may create");
        assert!(waiter.is_woken());
        assert_eq!(waiter.expect_worker().id(), 1);
    }

    async fn a_request_that_is_dropped_meanwhile_costs_the_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, call) = at_recycling::<P>();
        let waiter = &mut wait(1, || pool.get())[0];
        drop(call);
        assert_eq!((factory.recycling().waiting(), factory.destroyed()), (0, 1));
        assert_eq!((waiter.expect_worker().id(), pool.status().total), (1, 1));
    }

    async fn one_that_is_not_well_is_not_recycled<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycling(2, 0).open::<P>();
        let recycled = record(&factory);
        drop(pool.take(2));
        factory.worker(1).kill();
        assert_eq!(pool.get().expect_worker().id(), 0);
        assert_eq!((&*recycled.lock().unwrap(), factory.destroyed()), (&vec![0], 1));
    }

    async fn a_clear_meanwhile_ends_the_request<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory, mut call) = at_recycling::<P>();
        let mut clear = pool.clear();
        clear.expect_pending();
        factory.recycling().end(Outcome::Worker);
        call.expect_code(Cleared);
        assert_eq!(factory.live(), 0);
        clear.expect_ready();
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    async fn a_close_meanwhile_ends_the_request<P: TestPool>() on General, Keyed, Classified, Any {
        for outcome in [Outcome::Worker, Outcome::Error("stale")] {
            let (pool, factory, mut call) = at_recycling::<P>();
            let mut close = pool.close();
            close.expect_pending();
            factory.recycling().end(outcome);
            call.expect_code(Closed);
            close.expect_ready();
            assert_eq!(factory.live(), 0);
        }
    }

    async fn one_that_is_given_up_meanwhile_is_replaced<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut call) = at_recycling::<P>();
        pool.invalidate();
        factory.recycling().end(Outcome::Worker);
        let guard = call.expect_worker();
        assert_eq!((guard.id(), factory.destroyed(), factory.peak()), (1, 1, 1));
        factory.recycling().open_gate();
        drop(guard);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }
}
