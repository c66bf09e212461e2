//! How many requests may wait, and that the others are told so at once.

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Cleared, Clearing, Closed, Full, InvalidConfig};
use sfo_pool::{KeyedWorkerPool, KeyedWorkerPoolConfig, PoolOptions};
use tokio::time::advance;

use common::*;

/// So many workers, for which so many may wait.
fn limited(max: u16, waiting: usize) -> Setup {
    Setup::max(max).with(|options| options.with_max_waiting_count(Some(waiting)))
}

laws! {
    /// MT-3
    async fn one_more_than_may_wait_is_turned_away_at_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for limit in [1, 2, 20] {
            let (pool, factory) = limited(1, limit).open::<P>();
            let a = pool.get().expect_worker();
            let mut waiters = wait(limit, || pool.get());
            let error = pool.get().expect_error();
            assert_eq!(error.code(), Full);
            let said = if limit == 1 { "1 request waits" } else { &format!("{limit} requests wait") };
            assert!(error.msg().contains(said), "{}", error.msg());
            pool.get_timeout(secs(10)).expect_code(Full);

            drop(a);
            waiters.iter_mut().for_each(|waiter| drop(waiter.expect_worker()));
            pool.get().expect_worker();
            assert_eq!(factory.calls(), 1);
        }
    }

    async fn a_place_in_the_line_is_free_again_when_its_request_has_gone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = limited(1, 1).open::<P>();
        let holder = pool.get().expect_worker();
        for _ in 0..3 {
            let _waiter = wait(1, || pool.get());
            pool.get().expect_code(Full);
        }
        let mut late = pool.get_timeout(secs(10));
        late.expect_pending();
        advance(secs(10)).await;
        let b = &mut wait(1, || pool.get())[0];
        pool.get().expect_code(Full);
        drop(holder);
        assert!(b.is_woken());
        wait(1, || pool.get());
    }

    async fn where_nobody_may_wait_there_is_an_idle_worker_a_free_slot_or_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = limited(2, 0).open::<P>();
        factory.gate();
        let mut creating = pool.get();
        creating.expect_pending();
        factory.open_gate();
        let second = pool.get().expect_worker();
        pool.get().expect_code(Full);
        factory.end(Outcome::Worker);
        creating.expect_worker();
        assert_eq!(pool.get().expect_worker().id(), 1);
        drop(second);
        drop(pool.take(2));
        assert_eq!(factory.calls(), 2);
    }

    async fn where_nobody_may_wait_what_cannot_be_used_makes_room<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for how in 0..3 {
            let mut setup = limited(1, 0);
            setup = match how {
                0 => setup,
                1 => setup.idle_timeout(10),
                _ => setup.with(|options| {
                    let options = options.with_max_lifetime(Some(secs(10)));
                    options.with_max_lifetime_jitter(Duration::ZERO)
                }),
            };
            let (pool, factory) = setup.open::<P>();
            drop(pool.get().expect_worker());
            match how {
                0 => factory.worker(0).kill(),
                _ => advance(secs(10)).await,
            }
            assert_eq!(pool.get().expect_worker().id(), 1);
            assert_eq!(factory.peak(), 1);
        }
    }

    async fn who_is_stopped_by_the_creation_limit_alone_waits_as_well<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = limited(3, 1).max_creations(1).open::<P>();
        factory.gate();
        let _creating = wait(1, || pool.get());
        let _waits = wait(1, || pool.get());
        assert_eq!(factory.calls(), 1);
        pool.get().expect_code(Full);
    }

    async fn who_has_a_place_is_never_turned_away<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = limited(2, 1).open::<P>();
        let mut guards = pool.take(2);
        drop(guards.pop());
        factory.worker(1).kill();
        // While it meets a dead worker, somebody else fills the line, and its slot vanishes.
        let others = Arc::new(Mutex::new(Vec::new()));
        factory.on(Callback::Drop, {
            let (pool, others) = (pool.clone(), Arc::clone(&others));
            move |_| {
                pool.resize(Some(1)).unwrap();
                others.lock().unwrap().extend(wait(1, || pool.get()));
                pool.get().expect_code(Full);
            }
        });
        let mut first = pool.get();
        first.expect_pending();
        factory.no_longer_on(Callback::Drop);
        assert_eq!(pool.status().waiting, 2);

        drop(guards);
        drop(first.expect_worker());
        let other = &mut others.lock().unwrap()[0];
        assert_eq!((other.expect_worker().id(), factory.calls()), (0, 2));
    }

    async fn who_was_handed_a_worker_that_was_given_up_is_not_turned_away<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = limited(1, 1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut first = wait(1, || pool.get()).remove(0);
        drop(holder);
        let mut second = wait(1, || pool.get()).remove(0);
        pool.invalidate();
        let guard = first.expect_worker();
        assert_eq!((guard.id(), factory.live()), (1, 1));
        drop(guard);
        assert_eq!(second.expect_worker().id(), 1);
    }

    async fn who_is_turned_away_leaves_nothing_behind<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = limited(1, 1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiter = wait(1, || pool.get()).remove(0);
        let status = pool.status();
        for _ in 0..1000 {
            pool.get().expect_code(Full);
        }
        assert_eq!(pool.status(), status);
        assert_eq!((status.total, status.borrowed, status.waiting), (1, 1, 1));
        drop(holder);
        drop(waiter.expect_worker());
        assert_eq!((pool.status().idle, factory.calls()), (1, 1));
    }

    async fn a_closed_or_clearing_or_invalid_pool_says_so_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = limited(1, 1).open::<P>();
        let _holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        let mut clear = pool.clear();
        clear.expect_pending();
        pool.get().expect_code(Clearing);
        pool.close().expect_pending();
        pool.get().expect_code(Closed);
        let told = waiter.expect_error().code();
        assert!([Cleared, Closed].contains(&told));

        let (pool, _factory) = limited(0, 0).open::<P>();
        pool.get().expect_code(InvalidConfig);
    }

    async fn without_a_limit_everybody_may_wait<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let _holder = pool.get().expect_worker();
        let _waiters = wait(10_000, || pool.get());
        assert_eq!(pool.status().waiting, 10_000);
    }
}

#[test]
fn each_key_has_a_line_of_its_own() {
    watched(|| async {
        let (pool, _factory) = limited(1, 1).open::<Keyed>();
        let _held = [1, 2].map(|key| pool.get_of(key).expect_worker());
        let _waits = [1, 2].map(|key| wait(1, || pool.get_of(key)));
        (1..3).for_each(|key| pool.get_of(key).expect_code(Full));
        assert_eq!((pool.0.status_of(1).waiting, pool.status().waiting), (1, 2));
        drop(pool.get_of(3).expect_worker());
    });
}

#[test]
fn all_classes_have_one_line() {
    watched(|| async {
        let (pool, _factory) = limited(2, 1).open::<Classified>();
        let _held = [1, 2].map(|class| pool.get_of(class).expect_worker());
        let waits = wait(1, || pool.get_of(1));
        pool.get_of(2).expect_code(Full);
        pool.get_any().expect_code(Full);
        drop(waits);
        wait(1, || pool.get_any());
    });
}

#[test]
fn where_nobody_may_wait_an_idle_worker_of_another_class_makes_way() {
    watched(|| async {
        let (pool, factory) = limited(1, 0).open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        let _held = pool.get_of(2).expect_worker();
        assert_eq!((factory.live_of(1), factory.live_of(2)), (0, 1));
        pool.get_of(2).expect_code(Full);
        drop(pool.get_of(3).expect_worker());
    });
}

#[test]
fn who_is_turned_away_leaves_no_clone_of_its_key() {
    watched(|| async {
        let factory = ProbedFactory::default();
        let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1));
        let options = PoolOptions::default().with_max_waiting_count(Some(0));
        let pool = KeyedWorkerPool::new_with_options(factory.clone(), config, options);
        let keys = ProbedKeys { pool, factory, probe: Arc::default() };
        let holder = keys.get(1).expect_worker();
        let count = keys.keys();
        for _ in 0..10 {
            keys.get(1).expect_code(Full);
        }
        assert_eq!(keys.keys(), count);
        drop(holder);
        keys.pool.clear_all_worker().await;
        assert_eq!(keys.keys(), 0);
    });
}
