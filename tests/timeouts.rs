//! A request, a creation and a recycling end when their time has come, and leave nothing behind.

mod common;

use std::error::Error;
use std::thread;
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Failed, Timeout};
use sfo_pool::PoolRetry;
use tokio::time::advance;

use common::*;

const FOR_EVER: [Duration; 4] =
    [Duration::MAX, secs(u64::MAX), secs(u64::MAX / 2), secs(1_000_000_000 * 31_557_600)];

/// What frees something, and what it leaves in the test's hand.
type Free<P> = fn(&P, <P as TestPool>::Guard) -> Option<<P as TestPool>::Guard>;

fn ways_to_free<P: TestPool>() -> [Free<P>; 6] {
    [
        |_, holder| {
            drop(holder);
            None
        },
        |_, holder| {
            holder.state.kill();
            drop(holder);
            None
        },
        |_, holder| {
            P::discard(holder);
            None
        },
        |_, holder| {
            drop(P::detach(holder));
            None
        },
        |pool, holder| {
            pool.resize(Some(2)).unwrap();
            Some(holder)
        },
        |pool, holder| {
            pool.invalidate();
            drop(holder);
            None
        },
    ]
}

laws! {
    async fn a_request_waits_as_long_as_the_pool_allows<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).acquire_timeout(10).open::<P>();
        let holder = pool.get().expect_worker();
        let mut b = wait(1, || pool.get()).remove(0);
        advance(secs(9)).await;
        b.expect_pending();
        advance(secs(1)).await;
        assert!(b.is_woken());
        b.expect_code(Timeout);
        assert_eq!(pool.status().waiting, 0);
        drop(holder);
        pool.get().expect_worker();
    }

    async fn a_call_may_have_a_time_of_its_own<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(1).acquire_timeout(10).open::<P>();
        let _holder = pool.get_timeout(secs(1)).expect_worker();
        let (mut short, mut long) = (pool.get_timeout(secs(5)), pool.get_timeout(secs(15)));
        short.expect_pending();
        long.expect_pending();
        advance(secs(5)).await;
        short.expect_code(Timeout);
        advance(secs(9)).await;
        long.expect_pending();
        advance(secs(1)).await;
        long.expect_code(Timeout);
    }

    async fn the_time_runs_from_the_first_poll<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(1).acquire_timeout(10).open::<P>();
        let _holder = pool.get().expect_worker();
        let mut b = pool.get();
        advance(secs(10)).await;
        b.expect_pending();
        advance(secs(9)).await;
        b.expect_pending();
        advance(secs(1)).await;
        b.expect_code(Timeout);
    }

    /// CX-7
    async fn one_deadline_covers_waiting_recycling_and_creating<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).acquire_timeout(10);
        let setup = setup.with(|options| options.with_recycle_after(Some(Duration::ZERO)));
        let (pool, factory) = setup.open::<P>();
        let holder = pool.get().expect_worker();
        let mut b = wait(1, || pool.get()).remove(0);
        factory.gate();
        factory.recycling().gate();

        advance(secs(4)).await;
        drop(holder);
        b.expect_pending();
        assert_eq!(factory.recycling().waiting(), 1);
        advance(secs(4)).await;
        factory.recycling().end(Outcome::Error("stale"));
        b.expect_pending();
        assert_eq!((factory.waiting(), factory.destroyed()), (1, 1));
        advance(secs(1)).await;
        b.expect_pending();
        advance(secs(1)).await;
        b.expect_code(Timeout);
        assert_eq!((factory.waiting(), pool.status().total), (0, 0));
    }

    /// CX-7
    async fn a_creation_that_runs_out_of_time_passes_its_slot_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let (mut b, mut c) = (pool.get_timeout(secs(10)), pool.get_timeout(secs(20)));
        b.expect_pending();
        c.expect_pending();
        factory.gate();

        advance(secs(9)).await;
        P::discard(holder);
        b.expect_pending();
        advance(secs(1)).await;
        b.expect_code(Timeout);
        assert!(c.is_woken());
        c.expect_pending();
        advance(secs(3)).await;
        factory.end(Outcome::Worker);
        assert_eq!((c.expect_worker().id(), factory.calls()), (1, 3));
        assert_eq!((factory.created(), factory.destroyed()), (2, 1), "none is made for nobody");
    }

    async fn a_timeout_says_the_phase_the_time_and_the_counts<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(2).with(|options| options.with_recycle_after(Some(secs(1))));
        let (pool, factory) = setup.open::<P>();
        let says = |call: &mut Get<P>, what: &[&str]| {
            let error = call.expect_error();
            assert_eq!(error.code(), Timeout);
            for what in what {
                assert!(error.msg().contains(what), "{what}: {}", error.msg());
            }
            assert!(error.source().is_none());
        };
        drop(pool.take(2));
        advance(secs(1)).await;
        factory.recycling().gate();
        let mut call = pool.get_timeout(secs(3));
        call.expect_pending();
        advance(secs(3)).await;
        says(&mut call, &["3s", "recycling", "2 workers", "1 of them idle", "0 being created"]);

        factory.recycling().open_gate();
        factory.gate();
        let holder = pool.get().expect_worker();
        let mut call = pool.get_timeout(secs(4));
        call.expect_pending();
        advance(secs(4)).await;
        says(&mut call, &["4s", "creating", "1 worker,", "0 of them idle", "0 requests wait"]);

        factory.open_gate();
        let _second = pool.get().expect_worker();
        let mut call = pool.get_timeout(Duration::from_millis(1500));
        call.expect_pending();
        let _waiters = wait(3, || pool.get());
        advance(Duration::from_millis(1500)).await;
        says(&mut call, &["1.5s", "waiting", "2 workers", "0 of them idle", "3 requests wait"]);
        drop(holder);
    }

    async fn the_source_of_a_timeout_is_the_last_error_of_its_own_attempts<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let retry = PoolRetry::new(|_| true).with_first_delay(secs(100));
        let setup = Setup::max(1).acquire_timeout(10).with(|options| {
            options.with_creation_retry(Some(retry)).with_recycle_after(Some(Duration::ZERO))
        });
        let (pool, factory) = setup.open::<P>();
        let source = |mut call: Get<P>| {
            let error = call.expect_error();
            assert_eq!(error.code(), Timeout);
            error.source().map(ToString::to_string)
        };
        factory.next(Outcome::Error("no route"));
        let mut a = pool.get();
        a.expect_pending();
        advance(secs(10)).await;
        assert!(source(a).unwrap().contains("no route"));

        let holder = pool.get().expect_worker();
        factory.gate();
        factory.recycling().next(Outcome::Error("stale"));
        let mut b = pool.get();
        b.expect_pending();
        drop(holder);
        b.expect_pending();
        assert_eq!(factory.waiting(), 1);
        let mut c = pool.get();
        c.expect_pending();
        advance(secs(10)).await;
        assert!(source(b).unwrap().contains("stale"));
        assert_eq!(source(c), None, "it is another's");
    }

    async fn a_detached_creation_says_after_which_error_it_goes_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let retry = PoolRetry::new(|_| true).with_first_delay(secs(100));
        let setup = Setup::max(1).acquire_timeout(10).with(|options| {
            options.with_creation_retry(Some(retry)).with_detached_creation(true)
        });
        let (pool, factory) = setup.open::<P>();
        factory.next(Outcome::Error("no route"));
        let mut call = pool.get();
        call.expect_pending();
        let_tasks_run().await;
        advance(secs(10)).await;
        let error = call.expect_error();
        assert_eq!(error.code(), Timeout);
        assert!(error.source().unwrap().to_string().contains("no route"));
    }

    /// LW-3
    async fn nobody_whose_time_has_come_is_given_anything<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for free in ways_to_free::<P>() {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let mut expired = wait(3, || pool.get_timeout(secs(10)));
            let mut e = wait(1, || pool.get()).remove(0);
            advance(secs(10)).await;
            assert!(!e.is_woken());

            let _left = free(&pool, holder);
            assert!(e.is_woken());
            e.expect_worker();
            let calls = factory.calls();
            expired.iter_mut().for_each(|call| call.expect_code(Timeout));
            assert_eq!((factory.calls(), pool.status().waiting), (calls, 0));
        }
    }

    /// LW-3
    async fn who_was_given_a_worker_in_time_may_collect_it_later<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut b = wait(1, || pool.get_timeout(secs(10))).remove(0);
        advance(secs(9)).await;
        drop(holder);
        advance(secs(9)).await;
        assert_eq!((b.expect_worker().id(), factory.calls()), (0, 1));
    }

    /// FR-6
    async fn those_who_hold_one_and_wait_for_another_get_away<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).acquire_timeout(10).open::<P>();
        let held = pool.take(2);
        let mut second = wait(2, || pool.get());
        advance(secs(10)).await;
        second.iter_mut().for_each(|call| call.expect_code(Timeout));
        drop((second, held));
        let status = pool.status();
        assert_eq!((status.idle, status.waiting), (2, 0));
        pool.take(2);
        assert_eq!(factory.calls(), 2);
    }

    /// CK-1
    async fn for_ever_never_comes<P: TestPool>() on General, Keyed, Classified, Any {
        for for_ever in FOR_EVER {
            let setup = Setup::max(1).with(|options| {
                let options = options.with_acquire_timeout(Some(for_ever));
                let options = options.with_creation_timeout(Some(for_ever));
                options.with_recycle_timeout(Some(for_ever)).with_recycle_after(Some(Duration::ZERO))
            });
            let (pool, factory) = setup.open::<P>();
            factory.gate();
            let mut a = pool.get();
            a.expect_pending();
            let mut waiters = [pool.get(), pool.get_timeout(for_ever)];
            waiters.iter_mut().for_each(Call::expect_pending);
            advance(secs(100 * 31_557_600)).await;
            factory.end(Outcome::Worker);
            let holder = a.expect_worker();
            waiters.iter_mut().for_each(Call::expect_pending);
            drop(holder);
            factory.recycling().gate();
            waiters[0].expect_pending();
            advance(secs(100 * 31_557_600)).await;
            factory.recycling().end(Outcome::Worker);
            drop(waiters[0].expect_worker());
            factory.recycling().open_gate();
            waiters[1].expect_worker();
        }
    }

    /// CK-4
    async fn with_no_time_a_request_is_served_at_once_or_not_at_all<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).acquire_timeout(0).open::<P>();
        // The timer counts milliseconds, and a request may come within one.
        for since in [0, 1, 999_999] {
            advance(Duration::from_nanos(since)).await;
            let holder = pool.get().expect_worker();
            for mut call in [pool.get(), pool.get_timeout(Duration::ZERO)] {
                call.expect_code(Timeout);
            }
            assert_eq!(pool.status().waiting, 0);
            drop(holder);
            drop(pool.get_timeout(Duration::ZERO).expect_worker());
        }
        assert_eq!(factory.calls(), 1, "a creation that takes no time is in time");

        factory.worker(0).kill();
        factory.gate();
        pool.get().expect_code(Timeout);
        assert_eq!(pool.status().total, 0);
    }

    async fn who_is_served_from_idle_needs_no_runtime<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).acquire_timeout(10).open::<P>();
        drop(pool.get().expect_worker());
        thread::spawn(move || {
            drop(pool.get().expect_worker());
            drop(pool.get_timeout(secs(1)).expect_worker());
        })
        .join()
        .unwrap();
    }

    async fn a_creation_ends_when_its_time_has_come<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| options.with_creation_timeout(Some(secs(5))));
        let (pool, factory) = setup.open::<P>();
        factory.gate();
        let mut calls = wait(2, || pool.get());
        advance(secs(4)).await;
        calls[0].expect_pending();
        advance(secs(1)).await;
        let error = calls[0].expect_error();
        assert_eq!(error.code(), Timeout);
        assert!(error.msg().contains("create()") && error.msg().contains("5s"), "{}", error.msg());

        assert!(calls[1].is_woken(), "the slot goes to the next");
        calls[1].expect_pending();
        assert_eq!((factory.waiting(), factory.calls()), (1, 2));
        advance(secs(4)).await;
        factory.end(Outcome::Worker);
        calls[1].expect_worker();
    }

    async fn each_attempt_has_the_time_of_a_creation<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let retry = PoolRetry::new(|error| error.code() == Timeout)
            .with_max_retry_count(1)
            .with_first_delay(Duration::ZERO);
        let setup = Setup::max(1).with(|options| {
            options.with_creation_timeout(Some(secs(5))).with_creation_retry(Some(retry))
        });
        let (pool, factory) = setup.open::<P>();
        factory.gate();
        let mut call = pool.get();
        for attempt in 1..=2 {
            call.expect_pending();
            assert_eq!((factory.calls(), factory.waiting()), (attempt, 1));
            advance(secs(5)).await;
        }
        call.expect_code(Timeout);
    }

    async fn without_a_timeout_a_creation_may_take_for_ever<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut call = pool.get();
        call.expect_pending();
        advance(secs(1_000_000)).await;
        call.expect_pending();
        factory.end(Outcome::Error("late"));
        call.expect_code(Failed);
    }

    async fn a_recycling_that_runs_out_of_time_costs_the_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(2).with(|options| {
            let options = options.with_recycle_after(Some(Duration::ZERO));
            options.with_recycle_timeout(Some(secs(5)))
        });
        let (pool, factory) = setup.open::<P>();
        drop(pool.take(2));
        factory.recycling().gate();
        let mut call = pool.get();
        for destroyed in 0..2 {
            call.expect_pending();
            assert_eq!(factory.recycling().calls(), destroyed + 1);
            advance(secs(4)).await;
            call.expect_pending();
            assert_eq!((factory.calls(), factory.destroyed()), (2, 0));
            advance(secs(1)).await;
        }
        assert_eq!((call.expect_worker().id(), factory.destroyed()), (2, 2));
    }
}

#[test]
fn a_timeout_in_a_keyed_pool_counts_what_there_is_of_its_key() {
    watched(|| async {
        let (pool, _factory) = Setup::max(2).acquire_timeout(10).open::<Keyed>();
        let _others: Vec<_> = (10..1000).map(|key| pool.get_of(key).expect_worker()).collect();
        let _held = pool.take(2);
        let mut call = pool.get();
        call.expect_pending();
        advance(secs(10)).await;
        let error = call.expect_error();
        assert!(error.msg().contains("there are 2 workers"), "{}", error.msg());
    });
}
