//! The limit on workers may be changed while the pool is in use.

mod common;

use std::sync::atomic::Ordering::SeqCst;

use sfo_pool::PoolErrorCode::{Clearing, Closed, InvalidConfig};
use sfo_pool::PoolPhase;

use common::*;

fn ids<P: TestPool>(guards: &[P::Guard]) -> Vec<usize> {
    guards.iter().map(|guard| guard.id()).collect()
}

laws! {
    /// RS-1
    async fn shrinking_and_growing_again_serves_as_many_as_there_is_room_for<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let held = pool.take(2);
        let waiters = &mut wait(2, || pool.get());
        pool.resize(Some(1)).unwrap();
        pool.resize(Some(3)).unwrap();
        assert_eq!(woken(waiters), [0]);
        let third = waiters[0].expect_worker();
        waiters[1].expect_pending();
        drop(held);
        let fourth = waiters[1].expect_worker();
        drop((third, fourth));
        let status = pool.status();
        assert_eq!((status.total, status.idle, factory.peak()), (3, 3, 3));
    }

    /// RS-1
    async fn growing_serves_at_once_as_many_as_there_is_room_for<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let _held = pool.take(1);
        let waiters = &mut wait(6, || pool.get());
        pool.resize(Some(3)).unwrap();
        assert_eq!(woken(waiters), [0, 1]);
        assert_eq!(pool.status().max_count, Some(3));
        let (_, _served) = poll_woken(waiters);
        pool.resize(None).unwrap();
        assert_eq!((woken(waiters).len(), pool.status().max_count), (4, None));
        let (_, _rest) = poll_woken(waiters);
        assert_eq!(factory.live(), 7);
    }

    async fn shrinking_destroys_the_least_recently_used<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        let mut guards: Vec<_> = pool.take(4).into_iter().map(Some).collect();
        [1, 3, 0, 2].iter().for_each(|&id| drop(guards[id].take()));
        pool.resize(Some(2)).unwrap();
        assert_eq!((factory.live(), pool.status().idle), (2, 2));
        let guards = pool.take(2);
        assert_eq!(ids::<P>(&guards), [2, 0]);
        wait(1, || pool.get());
    }

    async fn shrinking_retires_what_is_out_even_if_somebody_waits<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        let mut held = pool.take(3);
        let waiters = &mut wait(2, || pool.get());
        pool.resize(Some(1)).unwrap();
        assert_eq!(factory.destroyed(), 0, "nothing is taken away");
        for destroyed in 1..=2 {
            drop(held.remove(0));
            assert_eq!((factory.destroyed(), woken(waiters)), (destroyed, vec![]));
        }
        drop(held);
        drop(waiters[0].expect_worker());
        drop(waiters[1].expect_worker());
        assert_eq!((factory.calls(), pool.status().total), (3, 1));
    }

    async fn idle_ones_go_before_those_that_are_out<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        let mut held = pool.take(4);
        drop(held.pop());
        pool.resize(Some(2)).unwrap();
        assert!(factory.worker(3).is_destroyed.load(SeqCst));
        drop(held);
        let status = pool.status();
        assert_eq!((status.idle, status.total, factory.destroyed()), (2, 2, 2));
    }

    async fn no_more_are_retired_than_are_too_many<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        let mut held = pool.take(4);
        pool.resize(Some(2)).unwrap();
        held[0].state.kill();
        drop(held.remove(0));
        let detached = P::detach(held.remove(0));
        drop(held);
        assert_eq!((pool.status().idle, factory.destroyed()), (2, 1));
        drop(detached);
    }

    async fn what_grows_again_retires_nobody<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).open::<P>();
        let held = pool.take(3);
        for max in 1..=3 {
            pool.resize(Some(max)).unwrap();
        }
        drop(held);
        assert_eq!((pool.status().idle, factory.destroyed()), (3, 0));
    }

    async fn a_creation_under_way_counts_and_runs_to_its_end<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        factory.gate();
        let [mut a, mut b, mut c] = wait(3, || pool.get()).try_into().ok().unwrap();
        pool.resize(Some(1)).unwrap();
        factory.end(Outcome::Worker);
        factory.end(Outcome::Worker);
        let (first, second) = (a.expect_worker(), b.expect_worker());
        drop(first);
        assert_eq!((factory.destroyed(), c.is_woken()), (1, false));
        drop(second);
        assert_eq!((c.expect_worker().id(), factory.destroyed()), (1, 1));
    }

    async fn a_creation_that_fails_is_one_too_many_less<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let holder = pool.get().expect_worker();
        factory.gate();
        let mut b = pool.get();
        b.expect_pending();
        let c = &mut wait(1, || pool.get())[0];
        pool.resize(Some(1)).unwrap();
        factory.end(Outcome::Error("down"));
        b.expect_error();
        assert!(!c.is_woken(), "there is no room for another");
        drop(holder);
        assert_eq!((c.expect_worker().id(), factory.destroyed()), (0, 0));
    }

    async fn who_was_handed_a_worker_keeps_it<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut held = pool.take(2);
        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(held.remove(0));
        pool.resize(Some(1)).unwrap();
        let guard = waiter.expect_worker();
        assert_eq!((guard.id(), factory.destroyed()), (0, 0));
        drop(guard);
        assert_eq!(factory.destroyed(), 1);
        drop(held);
        assert_eq!((pool.status().total, pool.status().idle), (1, 1));
    }

    async fn zero_is_refused_and_nothing_changes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut held = pool.take(2);
        held.pop();
        let status = pool.status();
        let error = pool.resize(Some(0)).unwrap_err();
        assert_eq!(error.code(), InvalidConfig);
        assert!(error.msg().contains("max_count"), "{}", error.msg());
        assert_eq!((pool.status(), factory.destroyed()), (status, 0));
        held.push(pool.get().expect_worker());
        wait(1, || pool.get());
    }

    async fn a_pool_that_makes_no_sense_stays_so<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(0).open::<P>();
        assert_eq!(pool.resize(Some(1)).unwrap_err().code(), InvalidConfig);
        pool.get().expect_code(InvalidConfig);
    }

    /// RS-1
    async fn a_closed_pool_stays_closed_and_a_clear_goes_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        pool.resize(Some(2)).unwrap();
        pool.get().expect_code(Clearing);
        drop(holder);
        clear.expect_ready();
        let held = pool.take(2);
        pool.close().expect_pending();
        pool.resize(Some(9)).unwrap();
        pool.get().expect_code(Closed);
        assert!(pool.is_closed() && pool.status().phase == PoolPhase::Closed);
        drop(held);
        assert_eq!((factory.live(), pool.status().total), (0, 0));
    }

    async fn it_may_be_called_from_anywhere<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        for callback in [Callback::Create, Callback::IsWork, Callback::Drop] {
            let within = pool.clone();
            factory.on(callback, move |id| within.resize(Some(2 + (id % 2) as u16)).unwrap());
        }
        for _ in 0..5 {
            let mut held = pool.take(2);
            held[0].state.kill();
            drop(held.remove(0));
        }
        [Callback::Create, Callback::IsWork, Callback::Drop]
            .iter()
            .for_each(|&callback| factory.no_longer_on(callback));
        assert!(pool.status().total <= 3 && factory.live() == pool.status().total);
    }

    async fn a_destructor_that_panics_stops_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        drop(pool.take(4));
        factory.on(Callback::Drop, |id| assert!(id > 0, "a bad end"));
        assert_eq!(panic_of(|| pool.resize(Some(1)).unwrap()).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        let status = pool.status();
        assert_eq!((status.max_count, status.total, factory.live()), (Some(1), 1, 1));
    }
}

#[test]
fn the_new_limit_is_that_of_each_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Keyed>();
        let get = |key| pool.get_of(key).expect_worker();
        let held = [get(1), get(1), get(2)];
        drop([get(3), get(3)]);
        pool.resize(Some(1)).unwrap();
        assert_eq!((pool.0.status_of(3).idle, pool.status().max_count), (1, Some(1)));
        wait(1, || pool.get_of(2));
        drop(held);
        assert_eq!([1, 2, 3].map(|key| pool.0.status_of(key).idle), [1, 1, 1]);
        let _fourth = get(4);
        wait(1, || pool.get_of(4));
        assert_eq!(factory.destroyed(), 2);
    });
}

#[test]
fn what_exceeds_the_target_of_classes_falls_back_or_is_covered() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let get = |class| pool.get_of(class).expect_worker();
        let held = [get(1), get(2), get(3)];
        pool.resize(Some(3)).unwrap();
        drop(held);
        assert_eq!((pool.status().idle, factory.destroyed()), (3, 0));
        pool.resize(Some(1)).unwrap();
        assert_eq!((factory.live(), factory.live_of(3)), (1, 1));
    });
}
