//! All workers of before are given up, while requests go on: credentials were rotated, say.

mod common;

use std::sync::atomic::Ordering::SeqCst;

use sfo_pool::PoolPhase;

use common::*;

laws! {
    async fn what_is_idle_goes_at_once_and_requests_go_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        pool.invalidate();
        let status = pool.status();
        assert_eq!((factory.live(), status.total, status.phase), (0, 0, PoolPhase::Open));
        assert_eq!(pool.take(3).iter().map(|guard| guard.id()).min(), Some(3));
        assert_eq!(pool.status().idle, 3, "what is of after is kept");
        assert_eq!(pool.get().expect_worker().id(), 5);
    }

    async fn what_is_out_goes_when_it_comes_back<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let old = pool.get().expect_worker();
        pool.invalidate();
        let new = pool.get().expect_worker();
        assert_eq!((old.id(), new.id(), factory.live()), (0, 1, 2));
        wait(1, || pool.get());
        drop(old);
        assert!(factory.worker(0).is_destroyed.load(SeqCst));
        drop(new);
        assert_eq!((pool.status().idle, pool.get().expect_worker().id()), (1, 1));
    }

    async fn who_waits_is_served_by_a_new_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let old = pool.get().expect_worker();
        let waiters = &mut wait(2, || pool.get());
        pool.invalidate();
        assert_eq!(woken(waiters), [], "the old one keeps its slot");
        drop(old);
        assert_eq!((factory.destroyed(), woken(waiters)), (1, vec![0]));
        let new = waiters[0].expect_worker();
        assert_eq!(new.id(), 1);
        drop(new);
        assert_eq!((waiters[1].expect_worker().id(), factory.peak()), (1, 1));
    }

    async fn a_creation_under_way_is_made_anew_for_the_same_caller<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let [mut a, mut b] = wait(2, || pool.get()).try_into().ok().unwrap();
        for round in 1..=3 {
            pool.invalidate();
            factory.end(Outcome::Worker);
            a.expect_pending();
            assert_eq!((factory.calls(), factory.destroyed()), (round + 1, round));
        }
        assert!(!b.is_woken());
        factory.end(Outcome::Worker);
        let new = a.expect_worker();
        assert_eq!((new.id(), factory.peak()), (3, 1));
        drop(new);
        assert_eq!(b.expect_worker().id(), 3);
    }

    async fn a_creation_under_way_that_fails_does_so_as_it_is<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut a = pool.get();
        a.expect_pending();
        pool.invalidate();
        factory.end(Outcome::Error("down"));
        assert_eq!((a.expect_error().msg(), pool.status().total), ("down", 0));
    }

    async fn a_permission_to_create_is_good_still<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        P::discard(holder);
        pool.invalidate();
        drop(waiter.expect_worker());
        assert_eq!((pool.get().expect_worker().id(), factory.calls()), (1, 2));
    }

    async fn a_worker_that_was_handed_over_is_not_used_any_more<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_dropped in [false, true] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let mut waiters = wait(2, || pool.get());
            drop(holder);
            pool.invalidate();
            if is_dropped {
                drop(waiters.remove(0));
                assert!(waiters[0].is_woken());
            }
            let new = waiters[0].expect_worker();
            assert_eq!((new.id(), factory.destroyed(), factory.peak()), (1, 1, 1));
            drop(new);
            assert_eq!(pool.status().total, 1);
        }
    }

    async fn one_that_is_being_asked_is_given_up_with_the_others<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        let within = pool.clone();
        factory.on(Callback::IsWork, move |_| within.invalidate());
        drop(pool.get().expect_worker());
        factory.no_longer_on(Callback::IsWork);
        assert!(factory.worker(0).is_destroyed.load(SeqCst));
        assert_eq!(pool.status().total, 0);
    }

    async fn it_may_be_called_again_and_beside_a_clear<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        pool.invalidate();
        pool.invalidate();
        clear.expect_pending();
        drop(holder);
        clear.expect_ready();
        drop(pool.get().expect_worker());
        assert_eq!((factory.destroyed(), pool.status().idle), (1, 1));
    }

    async fn a_destructor_that_panics_spares_none_of_the_others<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        factory.on(Callback::Drop, |id| assert!(id > 0, "a bad end"));
        assert_eq!(panic_of(|| pool.invalidate()).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        assert_eq!((factory.live(), pool.status().total), (0, 0));
        drop(pool.take(3));
    }
}

#[test]
fn the_workers_of_all_keys_are_given_up() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        drop((0..100).map(|key| pool.get_of(key).expect_worker()).collect::<Vec<_>>());
        let holder = pool.get_of(1).expect_worker();
        pool.invalidate();
        assert_eq!(factory.live(), 1);
        drop(holder);
        assert_eq!((factory.live(), pool.status().total), (0, 0));
    });
}

#[test]
fn the_workers_of_all_classes_are_given_up() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let held = [1, 2, 3].map(|class| pool.get_of(class).expect_worker());
        let mut waiters = vec![pool.get_of(1), pool.get_any()];
        waiters.iter_mut().for_each(Call::expect_pending);
        pool.invalidate();
        drop(held);
        assert_eq!(factory.live(), 0);
        let (_, new) = poll_woken(&mut waiters);
        assert_eq!(new.iter().map(|guard| guard.id()).min(), Some(3));
        assert_eq!(new.len(), 2);
    });
}
