//! A pool that is closed serves nobody any more, and ends with its last worker.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Cleared, Clearing, Closed, Failed, InvalidConfig};
use sfo_pool::PoolPhase;
use tokio::time::advance;

use common::*;

#[track_caller]
fn expect_empty<P: TestPool>(pool: &P, factory: &Factory) {
    let status = pool.status();
    assert_eq!((status.total, status.waiting, status.phase), (0, 0, PoolPhase::Closed));
    assert_eq!(factory.live(), 0);
    assert!(pool.is_closed());
}

/// A pool that is being closed while the creation of a request waits at the gate.
#[track_caller]
fn close_during_creation<P: TestPool>() -> (P, Factory, Get<P>, Call<()>) {
    let (pool, factory) = Setup::max(1).open::<P>();
    factory.gate();
    let mut request = pool.get();
    request.expect_pending();
    let mut close = pool.close();
    close.expect_pending();
    (pool, factory, request, close)
}

laws! {
    /// SD-5
    async fn a_close_tells_who_waits_and_who_comes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let a = pool.get().expect_worker();
        let mut waiters = [pool.get(), pool.get_timeout(secs(10))];
        waiters.iter_mut().for_each(Call::expect_pending);
        let mut close = pool.close();
        close.expect_pending();
        assert!(waiters.iter().all(Call::is_woken));
        waiters.iter_mut().for_each(|waiter| waiter.expect_code(Closed));
        pool.get().expect_code(Closed);
        pool.get_timeout(secs(1)).expect_code(Closed);

        assert!(!close.is_woken());
        drop(a);
        assert!(close.is_woken());
        close.expect_ready();
        expect_empty(&pool, &factory);
        pool.get().expect_code(Closed);
        assert_eq!(factory.calls(), 1);
    }

    async fn what_is_idle_goes_at_once<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        pool.close().expect_ready();
        expect_empty(&pool, &factory);
    }

    async fn a_close_is_final_from_its_first_poll<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut held = pool.take(2);
        drop(pool.close());
        assert!(!pool.is_closed());
        drop(held.pop());
        held.push(pool.get().expect_worker());
        assert_eq!(factory.calls(), 2);

        let mut close = pool.close();
        close.expect_pending();
        drop(close);
        assert!(pool.is_closed());
        pool.get().expect_code(Closed);
        drop(held);
        expect_empty(&pool, &factory);
    }

    async fn a_close_under_its_callers_timeout_is_final<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut close = pool.close().within(10);
        close.expect_pending();
        advance(secs(10)).await;
        assert!(close.expect_ready().is_err());
        drop(close);
        pool.get().expect_code(Closed);
        drop(holder);
        expect_empty(&pool, &factory);
    }

    async fn a_bad_limit_comes_before_a_close_and_that_before_a_clear<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(0).open::<P>();
        pool.close().expect_ready();
        pool.get().expect_code(InvalidConfig);
        pool.get_timeout(secs(1)).expect_code(InvalidConfig);

        for close_first in [true, false] {
            let (pool, _factory) = Setup::max(1).open::<P>();
            let _holder = pool.get().expect_worker();
            let mut calls = [pool.clear(), pool.close()];
            if close_first {
                calls.reverse();
            }
            calls.iter_mut().for_each(Call::expect_pending);
            pool.get().expect_code(Closed);
        }
    }

    /// SD-3
    async fn a_creation_under_way_that_succeeds_is_destroyed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut a, mut close) = close_during_creation::<P>();
        assert!(!a.is_woken(), "it runs to its end");
        factory.end(Outcome::Worker);
        close.expect_pending();
        a.expect_code(Closed);
        close.expect_ready();
        expect_empty(&pool, &factory);
        assert_eq!(factory.created(), 1);
    }

    /// SD-3
    async fn a_creation_under_way_that_fails_does_so_as_it_is<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut a, mut close) = close_during_creation::<P>();
        factory.end(Outcome::Error("no more workers"));
        let error = a.expect_error();
        assert_eq!((error.code(), error.msg()), (Failed, "no more workers"));
        close.expect_ready();
        expect_empty(&pool, &factory);
    }

    /// SD-3
    async fn a_creation_under_way_that_panics_or_is_dropped_ends_the_close<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for panics in [true, false] {
            let (pool, factory, mut a, mut close) = close_during_creation::<P>();
            if panics {
                factory.end(Outcome::Panic("no more workers"));
                assert!(panic_of(|| _ = a.poll()).is_some());
            } else {
                drop(a);
            }
            assert!(close.is_woken());
            close.expect_ready();
            expect_empty(&pool, &factory);
        }
    }

    async fn who_was_given_something_and_has_not_looked_is_told<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_well in [true, false] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let waiter = &mut wait(1, || pool.get())[0];
            holder.state.is_well.store(is_well, SeqCst);
            drop(holder);
            pool.close().expect_ready();
            expect_empty(&pool, &factory);
            waiter.expect_code(Closed);
            assert_eq!(factory.calls(), 1);
        }
    }

    async fn a_clear_and_a_close_end_together_and_the_pool_stays_closed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for (drop_clear, drop_close) in [(false, false), (true, false), (false, true)] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let waiter = &mut wait(1, || pool.get())[0];
            let (mut clear, mut close) = (Some(pool.clear()), Some(pool.close()));
            clear.as_mut().unwrap().expect_pending();
            pool.get().expect_code(Clearing);
            close.as_mut().unwrap().expect_pending();
            clear.take_if(|_| drop_clear);
            close.take_if(|_| drop_close);
            pool.get().expect_code(Closed);
            let told = waiter.expect_error().code();
            assert!([Cleared, Closed].contains(&told));

            drop(holder);
            clear.iter_mut().for_each(Call::expect_ready);
            close.iter_mut().for_each(Call::expect_ready);
            drop((clear, close));
            expect_empty(&pool, &factory);
            pool.get().expect_code(Closed);
        }
    }

    async fn a_clear_of_a_closed_pool_waits_like_any_other_and_opens_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        pool.close().expect_pending();
        let mut clear = pool.clear();
        clear.expect_pending();
        drop(holder);
        clear.expect_ready();
        drop(clear);
        pool.clear().expect_ready();
        pool.get().expect_code(Closed);
        expect_empty(&pool, &factory);
    }

    async fn a_close_may_be_called_several_times<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut closes = wait(3, || pool.close());
        drop(closes.remove(0));
        assert_eq!(woken(&closes), []);
        drop(holder);
        closes.iter_mut().for_each(Call::expect_ready);
        pool.close().expect_ready();
        expect_empty(&pool, &factory);
    }

    async fn a_close_within_a_time_says_how_many_are_missing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        let mut held = pool.take(4);
        drop(held.pop());
        let mut close = pool.close_within(secs(10));
        close.expect_pending();
        assert_eq!(factory.live(), 3);
        pool.get().expect_code(Closed);
        drop(held.pop());
        advance(secs(10)).await;
        assert_eq!(close.expect_ready(), 2);

        let mut close = pool.close_within(secs(10));
        close.expect_pending();
        drop(held);
        assert!(close.is_woken());
        assert_eq!(close.expect_ready(), 0);
        assert_eq!(pool.close_within(Duration::ZERO).expect_ready(), 0);
        expect_empty(&pool, &factory);
    }

    async fn a_creation_under_way_is_missing_as_well<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        factory.gate();
        let _creating = wait(2, || pool.get());
        let mut close = pool.close_within(secs(1));
        close.expect_pending();
        advance(secs(1)).await;
        assert_eq!(close.expect_ready(), 2);
    }

    async fn a_close_within_no_time_waits_for_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for since in [0, 1] {
            advance(Duration::from_nanos(since)).await;
            let (pool, _factory) = Setup::max(1).open::<P>();
            let _holder = pool.get().expect_worker();
            assert_eq!(pool.close_within(Duration::ZERO).expect_ready(), 1);
            assert!(pool.is_closed());
        }
    }

    async fn a_close_within_for_ever_waits_for_all<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut close = pool.close_within(Duration::MAX);
        close.expect_pending();
        advance(secs(31_557_600)).await;
        close.expect_pending();
        drop(holder);
        assert_eq!(close.expect_ready(), 0);
    }

    async fn a_close_needs_no_runtime_if_all_are_back<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        drop(pool.take(2));
        let theirs = pool.clone();
        let closing = thread::spawn(move || {
            assert_eq!(theirs.close_within(secs(1)).expect_ready(), 0);
            theirs.close().expect_ready();
            theirs.closed().expect_ready();
        });
        closing.join().unwrap();
        expect_empty(&pool, &factory);
    }

    async fn who_wants_to_know_is_told_when_the_pool_is_closed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let _holder = pool.get().expect_worker();
        let mut told = wait(3, || pool.closed());
        drop(told.pop());
        let mut unpolled = pool.closed();
        pool.clear().expect_pending();
        assert_eq!(woken(&told), [], "a clear is no close");
        drop(pool.close());
        assert_eq!(woken(&told), []);

        pool.close().expect_pending();
        assert_eq!(woken(&told), [0, 1]);
        told.iter_mut().for_each(Call::expect_ready);
        unpolled.expect_ready();
        pool.closed().expect_ready();
    }

    async fn a_close_that_meets_a_bad_destructor_closes_all_the_same<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        factory.on(Callback::Drop, |id| assert!(id > 0, "a bad end"));
        let mut close = pool.close();
        assert_eq!(panic_of(|| _ = close.poll()).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        pool.get().expect_code(Closed);
        pool.closed().expect_ready();
        expect_empty(&pool, &factory);
    }

    async fn a_worker_that_is_taken_out_is_not_waited_for<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut close = pool.close();
        close.expect_pending();
        let worker = P::detach(holder);
        close.expect_ready();
        drop(worker);
    }

    async fn a_closed_pool_can_be_asked_for_anything<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(2).idle_timeout(10).open::<P>();
        drop(pool.take(2));
        pool.close().expect_ready();
        let retained = pool.retain(|_| true);
        assert_eq!((retained.kept, retained.removed, pool.cleanup()), (0, 0, 0));
        pool.invalidate();
        let is_gone = pool.probe();
        drop(pool);
        assert!(is_gone());
    }
}

#[test]
fn a_close_empties_every_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Keyed>();
        drop([1, 2, 3].map(|key| pool.get_of(key).expect_worker()));
        let holders = [2, 300].map(|key| pool.get_of(key).expect_worker());
        let mut close = pool.close_within(secs(1));
        close.expect_pending();
        (0..400).for_each(|key| pool.get_of(key).expect_code(Closed));
        advance(secs(1)).await;
        assert_eq!(close.expect_ready(), 2);
        drop(holders);
        expect_empty(&pool, &factory);
    });
}
