//! Idle workers are looked through, and those that are kept lie where they were.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use sfo_pool::PoolRetained;
use tokio::time::advance;

use common::*;

fn pair(retained: PoolRetained) -> (usize, usize) {
    (retained.kept, retained.removed)
}

/// Returns the workers of these numbers in this order, and gets them all again.
#[track_caller]
fn order_after<P: TestPool>(pool: &P, count: usize) -> Vec<usize> {
    pool.take(count).iter().map(|guard| guard.id()).collect()
}

fn return_in_order<P: TestPool>(pool: &P, order: &[usize]) {
    let mut guards: Vec<_> = pool.take(order.len()).into_iter().map(Some).collect();
    order.iter().for_each(|&id| drop(guards[id].take()));
}

laws! {
    async fn the_predicate_says_who_stays<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(5).open::<P>();
        drop(pool.take(5));
        assert_eq!(pair(pool.retain(|worker| worker.id() % 2 == 0)), (3, 2));
        assert_eq!((factory.live(), pool.status().idle, pool.status().total), (3, 3, 3));
        assert!([1, 3].iter().all(|&id| factory.worker(id).is_destroyed.load(SeqCst)));
        assert_eq!(pair(pool.retain(|_| false)), (0, 3));
        assert_eq!(pair(pool.retain(|_| true)), (0, 0));
        assert_eq!(pool.status().total, 0);
    }

    async fn only_what_is_idle_is_asked<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut held = pool.take(2);
        drop(held.pop());
        let mut asked = Vec::new();
        pool.retain(|worker| {
            asked.push(worker.id());
            false
        });
        assert_eq!((asked, factory.live()), (vec![1], 1));
        drop(held);
        assert_eq!(pool.status().idle, 1);
    }

    async fn what_stays_has_its_old_place<P: TestPool>() on General, Keyed, Classified, Any {
        for setup in [Setup::max(4), Setup::max(4).idle_timeout(1000)] {
            let (pool, _factory) = setup.clone().open::<P>();
            return_in_order(&pool, &[1, 3, 0, 2]);
            assert_eq!(pair(pool.retain(|_| true)), (4, 0));
            assert_eq!(order_after(&pool, 4), [2, 0, 3, 1]);

            let (pool, factory) = setup.open::<P>();
            return_in_order(&pool, &[1, 3, 0, 2]);
            pool.retain(|worker| worker.id() != 0);
            assert_eq!(order_after(&pool, 3), [2, 3, 1]);
            pool.retain(|_| true);
            pool.resize(Some(1)).unwrap();
            assert_eq!(factory.live(), 1);
        }
    }

    async fn what_comes_meanwhile_is_newer_than_what_stays<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for setup in [Setup::max(4), Setup::max(4).idle_timeout(1000)] {
            let (pool, _factory) = setup.open::<P>();
            let mut held = pool.take(4);
            drop(held.drain(..2).collect::<Vec<_>>());
            pool.retain(|_| {
                held.pop();
                true
            });
            assert_eq!(order_after(&pool, 4), [2, 3, 1, 0]);
        }
    }

    async fn what_stays_expires_when_it_would_have<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let mut held = pool.take(2);
        drop(held.pop());
        advance(secs(5)).await;
        drop(held);
        assert_eq!(pair(pool.retain(|_| true)), (2, 0));
        advance(secs(5)).await;
        assert_eq!(pool.cleanup(), 1);
        advance(secs(5)).await;
        assert_eq!(pool.cleanup(), 1);
    }

    async fn the_predicate_may_call_the_pool<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(2));
        let mut got = Vec::new();
        let retained = pool.retain(|_| {
            assert_eq!((pool.status().idle, pair(pool.retain(|_| false))), (0, (0, 0)));
            assert!(pool.try_get().unwrap().is_none());
            if got.is_empty() {
                got.push(pool.get().expect_worker());
            }
            pool.cleanup();
            true
        });
        assert_eq!((pair(retained), got[0].id(), factory.live()), ((2, 0), 2, 3));
    }

    async fn who_comes_to_wait_meanwhile_is_served<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for (is_kept, calls) in [(true, 2), (false, 4)] {
            let (pool, factory) = Setup::max(2).open::<P>();
            drop(pool.take(2));
            let mut waiters = Vec::new();
            pool.retain(|_| {
                waiters.extend(wait(1, || pool.get()));
                is_kept
            });
            assert_eq!(woken(&waiters), [0, 1]);
            let guards: Vec<_> = waiters.iter_mut().map(Call::expect_worker).collect();
            assert_eq!((factory.calls(), guards.len(), factory.peak()), (calls, 2, 2));
        }
    }

    async fn a_predicate_that_panics_costs_the_worker_it_was_asked_about<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        drop(pool.take(4));
        let asked = AtomicUsize::new(0);
        let panic = panic_of(|| {
            pool.retain(|_| {
                assert!(asked.fetch_add(1, SeqCst) < 1, "a bad predicate");
                true
            });
        });
        assert_eq!((panic.as_deref(), asked.load(SeqCst)), (Some("a bad predicate"), 2));
        assert_eq!((factory.live(), pool.status().idle, pool.status().total), (3, 3, 3));
        pool.take(4);
    }

    async fn a_destructor_that_panics_spares_none_of_the_others<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        drop(pool.take(4));
        factory.on(Callback::Drop, |id| assert!(id != 1, "a bad end"));
        let panic = panic_of(|| _ = pool.retain(|worker| worker.id() == 3));
        factory.no_longer_on(Callback::Drop);
        assert_eq!(panic.as_deref(), Some("a bad end"));
        assert_eq!((factory.live(), pool.status().idle, pool.status().total), (1, 1, 1));
    }

    async fn what_is_given_up_meanwhile_does_not_come_back<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for clears in [false, true] {
            let (pool, factory) = Setup::max(2).open::<P>();
            drop(pool.take(2));
            let mut clear = pool.clear();
            pool.retain(|_| {
                if clears {
                    _ = clear.poll();
                } else {
                    pool.invalidate();
                }
                true
            });
            if clears {
                clear.expect_ready();
            }
            assert_eq!((factory.live(), pool.status().total), (0, 0));
        }
    }

    async fn what_is_too_many_meanwhile_does_not_come_back<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        pool.retain(|_| pool.resize(Some(1)).is_ok());
        assert_eq!((factory.live(), pool.status().idle), (1, 1));
    }

    async fn being_asked_is_no_use<P: TestPool>() on General, Keyed, Classified, Any {
        let setup = Setup::max(1).with(|options| options.with_max_use_count(Some(2)));
        let (pool, factory) = setup.open::<P>();
        drop(pool.get().expect_worker());
        (0..5).for_each(|_| assert_eq!(pair(pool.retain(|_| true)), (1, 0)));
        assert_eq!((pool.get().expect_worker().id(), factory.calls()), (0, 1));
    }

    async fn no_more_are_kept_than_may_be_idle<P: TestPool>() on General, Keyed {
        let (pool, factory) = Setup::max(4).max_idle(2).open::<P>();
        let mut held = pool.take(4);
        drop(held.drain(..2).collect::<Vec<_>>());
        pool.retain(|_| {
            held.pop();
            true
        });
        assert_eq!((factory.live(), pool.status().idle), (2, 2));
        assert_eq!(order_after(&pool, 2), [2, 3]);
    }
}

#[test]
fn the_workers_of_all_keys_are_asked() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        drop((0..100).map(|key| pool.get_of(key).expect_worker()).collect::<Vec<_>>());
        let asked = Arc::new(AtomicUsize::new(0));
        let retained = pool.retain(|worker| {
            asked.fetch_add(1, SeqCst);
            worker.state.key.load(SeqCst) < 30
        });
        assert_eq!((pair(retained), asked.load(SeqCst), factory.live()), ((30, 70), 100, 30));
        assert_eq!([29, 30].map(|key| pool.0.status_of(key).total), [1, 0]);
    });
}

#[test]
fn what_stays_has_its_old_place_among_all_classes() {
    watched(|| async {
        let (pool, _factory) = Setup::max(4).open::<Classified>();
        let mut held: Vec<_> =
            [1, 2, 1, 3].iter().map(|&class| Some(pool.get_of(class).expect_worker())).collect();
        [2, 1, 3, 0].iter().for_each(|&id| drop(held[id].take()));
        pool.retain(|worker| worker.id() != 3);
        let order = [(); 3].map(|()| pool.get_any().expect_worker());
        assert_eq!(order.map(|guard| guard.id()), [0, 1, 2]);
    });
}
