//! Keys: each has workers, waiters and limits of its own, and nothing of one that nobody uses stays.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use common::*;
use sfo_pool::{KeyedWorkerPoolConfig, PoolErrorCode};

/// FR-5
#[test]
fn a_busy_key_delays_no_other() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<Keyed>();
        let _job = pool.get_of(1).expect_worker();
        let _jobs = wait(5, || pool.get_of(1));
        drop(pool.get_of(2).expect_worker());
    });
}

/// KY-8
#[test]
fn a_creation_under_one_key_delays_no_other() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).max_creations(1).open::<Keyed>();
        factory.gate();
        let mut slow = pool.get_of(1);
        slow.expect_pending();
        factory.open_gate();
        drop(pool.get_of(2).expect_worker());
        slow.expect_pending();
    });
}

#[test]
fn each_key_has_limits_of_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_idle(1).open::<Keyed>();
        let guards = [1, 1, 2, 2].map(|key| pool.get_of(key).expect_worker());
        pool.get_of(1).expect_pending();
        pool.get_of(2).expect_pending();
        drop(guards);
        assert_eq!((factory.live_of(1), factory.live_of(2)), (1, 1));
    });
}

/// D8
#[test]
fn nothing_that_happens_under_one_key_wakes_who_waits_for_another() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).idle_timeout(1).open::<Keyed>();
        let holder = pool.get_of(2).expect_worker();
        let mut waiters = wait(3, || pool.get_of(2));

        drop(pool.get_of(1).expect_worker());
        pool.get_of(1).expect_worker().state.kill();
        for outcome in [Outcome::Error("no"), Outcome::WorkerOf(2), Outcome::Panic("no")] {
            factory.next(outcome);
            let mut call = pool.get_of(1);
            panic_of(|| drop(call.poll()));
        }
        factory.gate();
        pool.get_of(1).expect_pending();
        factory.open_gate();
        drop(pool.get_of(1).expect_worker());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pool.cleanup(), 1);

        assert!(woken(&waiters).is_empty());
        drop(holder);
        assert_eq!(woken(&waiters), [0]);
        drop(waiters.remove(0).expect_worker());
    });
}

#[test]
fn a_worker_that_supports_another_key_is_not_used_for_it() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let one = pool.get_of(1).expect_worker();
        one.state.also_serve(2);
        let two = pool.get_of(2).expect_worker();
        let mut waiter = pool.get_of(2);
        waiter.expect_pending();
        drop(one);
        assert!(!waiter.is_woken());
        two.state.kill();
        drop(two);
        assert_eq!(waiter.expect_worker().id(), 2);
        assert_eq!(factory.live_of(1), 1);
    });
}

const WAYS_TO_SPOIL: [fn(&WorkerState); 2] = [|state| state.change_key(9), WorkerState::deny_own];

#[test]
fn a_worker_that_changed_or_denies_its_key_while_borrowed_is_destroyed() {
    watched(|| async {
        for spoil in WAYS_TO_SPOIL {
            let (pool, factory) = Setup::max(1).open::<Keyed>();
            let holder = pool.get_of(1).expect_worker();
            let mut waiter = pool.get_of(1);
            waiter.expect_pending();
            spoil(&holder.state);
            drop(holder);
            assert_eq!((factory.destroyed(), waiter.expect_worker().id()), (1, 1));
            assert_eq!(pool.get_of(9).expect_worker().id(), 2, "nor is it filed elsewhere");
        }
    });
}

#[test]
fn a_request_cleans_up_the_key_asked_for_and_a_cleanup_all() {
    watched(|| async {
        let (pool, factory) = Setup::default().idle_timeout(1).open::<Keyed>();
        drop([1, 1, 2, 3].map(|key| pool.get_of(key).expect_worker()));
        tokio::time::advance(Duration::from_secs(1)).await;
        let _guard = pool.get_of(1).expect_worker();
        assert_eq!((factory.live_of(1), factory.live_of(2), factory.live_of(3)), (1, 1, 1));
        assert_eq!((factory.destroyed(), pool.cleanup()), (2, 2));
        assert_eq!(factory.live(), 1);
    });
}

/// KY-6
#[test]
fn keys_that_nobody_uses_any_more_leave_nothing_behind() {
    watched(|| async {
        const KEYS: u32 = 100_000;
        for is_cleared in [false, true] {
            let config = KeyedWorkerPoolConfig::default()
                .with_max_count_per_key(Some(1))
                .with_idle_timeout(Some(Duration::from_secs(10)));
            let keys = ProbedKeys::open(config);
            for key in 0..KEYS {
                use_once(&keys, key);
            }
            assert!(keys.keys() <= 3 * KEYS as usize / 5, "only idle workers keep theirs");
            if is_cleared {
                keys.pool.clear_all_worker().await;
            } else {
                tokio::time::advance(Duration::from_secs(10)).await;
                assert_eq!(keys.pool.cleanup_idle_worker(), KEYS as usize / 5);
            }
            assert_eq!(keys.keys(), 0);
        }
    });
}

/// Once a key each way: a waiter cancelled and a worker discarded, a creation that fails, one that
/// is cancelled with who waits for it, a worker discarded, a worker returned.
fn use_once(keys: &ProbedKeys, key: u32) {
    match key % 5 {
        0 => {
            let mut guard = keys.get(key).expect_worker();
            keys.get(key).expect_pending();
            guard.is_well = false;
        }
        1 => {
            keys.factory.fails.store(true, SeqCst);
            keys.get(key).expect_code(PoolErrorCode::Failed);
            keys.factory.fails.store(false, SeqCst);
        }
        2 => {
            keys.factory.hangs.store(true, SeqCst);
            drop(wait(2, || keys.get(key)));
            keys.factory.hangs.store(false, SeqCst);
        }
        3 => keys.get(key).expect_worker().is_well = false,
        _ => drop(keys.get(key).expect_worker()),
    }
}

#[test]
fn a_key_is_hashed_once_for_each_call_and_not_by_a_growing_pool() {
    watched(|| async {
        let keys =
            ProbedKeys::open(KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1)));
        let guards: Vec<_> = (0..1000).map(|key| keys.get(key).expect_worker()).collect();
        assert_eq!(keys.probe.hashes(), 1000);
        let waiters: Vec<_> = (0..1000).flat_map(|key| wait(1, || keys.get(key))).collect();
        assert_eq!(keys.probe.hashes(), 2000);
        drop(guards);
        for mut waiter in waiters {
            waiter.expect_worker().is_well = false;
        }
        assert_eq!(keys.probe.hashes(), 2000, "a return asks for none");
    });
}

/// More than the pool has parts, so that some part has several of them.
const MANY: u32 = 200;

#[test]
fn a_clear_closes_the_pool_to_every_key_until_the_last_worker_of_any_is_gone() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let mut guards: Vec<_> = (0..MANY).map(|key| pool.get_of(key).expect_worker()).collect();
        let mut waiters: Vec<_> = (0..MANY).map(|key| pool.get_of(key)).collect();
        waiters.iter_mut().for_each(Call::expect_pending);

        let mut clear = pool.clear();
        clear.expect_pending();
        waiters.iter_mut().for_each(|waiter| waiter.expect_code(PoolErrorCode::Cleared));
        while let Some(guard) = guards.pop() {
            assert!(!clear.is_woken());
            (0..2 * MANY).for_each(|key| pool.get_of(key).expect_code(PoolErrorCode::Clearing));
            drop(guard);
        }
        assert!(clear.is_woken());
        assert_eq!(factory.live(), 0);
        // Open before anybody polls the clear.
        (0..MANY).for_each(|key| drop(pool.get_of(key).expect_worker()));
        clear.expect_ready();
    });
}

#[test]
fn an_abandoned_clear_opens_the_pool_to_every_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let guards: Vec<_> = (0..MANY).map(|key| pool.get_of(key).expect_worker()).collect();
        let [mut clear, mut other] = [pool.clear(), pool.clear()];
        clear.expect_pending();
        other.expect_pending();
        drop(clear);
        pool.get_of(MANY).expect_code(PoolErrorCode::Clearing);
        drop(other);

        (MANY..2 * MANY).for_each(|key| drop(pool.get_of(key).expect_worker()));
        drop(guards);
        assert_eq!(factory.live(), MANY as usize, "those of before the clear are gone");
    });
}

#[test]
fn a_cleanup_counts_what_has_expired_under_every_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).idle_timeout(10).open::<Keyed>();
        (0..MANY).for_each(|key| drop(pool.get_of(key).expect_worker()));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!((pool.cleanup(), factory.live()), (MANY as usize, 0));
    });
}

/// PN-1
#[test]
fn a_destructor_that_panics_in_a_clear_leaves_the_pool_open_to_every_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        (0..MANY).for_each(|key| drop(pool.get_of(key).expect_worker()));
        factory.on(Callback::Drop, |_| panic!("a bad end"));
        assert_eq!(panic_of(|| _ = pool.clear().poll()).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        assert_eq!(factory.live(), 0);
        (0..MANY).for_each(|key| drop(pool.get_of(key).expect_worker()));
    });
}
