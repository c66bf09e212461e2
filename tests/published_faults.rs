//! The faults that were observed in the published 0.4.1. None of them is left.
//!
//! Everything here uses the interface of 0.4.1, so that it can be run against that version as well.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::*;
use sfo_pool::{KeyedWorkerPoolConfig, PoolErrorCode};

laws! {
    /// D1
    async fn a_question_that_panics_leaves_the_pool_in_use<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        factory.on(Callback::IsWork, |_| panic!("asked"));
        let mut asker = pool.get();
        assert!(panic_of(|| drop(asker.poll())).is_some());

        factory.no_longer_on(Callback::IsWork);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// D1
    async fn a_question_that_panics_at_the_return_serves_who_waits<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiter = pool.get();
        waiter.expect_pending();
        factory.on(Callback::IsWork, |_| panic!("asked"));
        panic_of(|| drop(holder));

        factory.no_longer_on(Callback::IsWork);
        assert!(waiter.is_woken());
        assert_eq!(waiter.expect_worker().id(), 1);
    }

    /// D2
    async fn a_panic_during_which_a_question_would_panic_ends_nothing_else<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let guard = pool.get().expect_worker();
        factory.on(Callback::IsWork, |_| panic!("asked"));
        let panic = panic_of(move || {
            let _guard = guard;
            panic!("in use");
        });
        assert!(panic.is_some());

        factory.no_longer_on(Callback::IsWork);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// D3
    async fn a_clear_that_nobody_awaits_any_more_refuses_nobody<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(2).open::<P>();
        let _holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        drop(clear);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// D5
    async fn a_worker_that_panics_when_asked_what_it_is_costs_no_slot<P: TestPool>()
        on Keyed, Classified, Any
    {
        for callback in [Callback::Names, Callback::Serves] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let guard = pool.get().expect_worker();
            factory.on(callback, |_| panic!("asked"));
            panic_of(|| drop(guard));

            factory.no_longer_on(callback);
            assert_eq!(pool.get().expect_worker().id(), 1);
            assert_eq!(factory.live(), 1);
        }
    }

    /// D6: another one was being served meanwhile.
    async fn a_dead_worker_whose_destructor_panics_costs_no_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let [a, b] = [pool.get(), pool.get()].map(|mut call| call.expect_worker());
        drop(a);
        let newest = Arc::clone(&b.state);
        drop(b);
        newest.kill();
        factory.on(Callback::Drop, |id| assert_ne!(id, 1, "destroyed"));
        let mut asker = pool.get();
        assert!(panic_of(|| drop(asker.poll())).is_some());

        assert_all_can_be_held(&pool, 2);
    }

    /// D6, D25
    async fn an_expired_worker_whose_destructor_panics_costs_who_is_served_no_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(1).open::<P>();
        let [a, b] = [pool.get(), pool.get()].map(|mut call| call.expect_worker());
        drop(a);
        pass(Duration::from_secs(1)).await;
        drop(b);
        factory.on(Callback::Drop, |id| assert_ne!(id, 0, "destroyed"));
        let mut asker = pool.get();
        assert!(panic_of(|| drop(asker.poll())).is_some());

        assert_all_can_be_held(&pool, 2);
    }

    /// D7
    async fn a_dead_worker_wakes_the_oldest_waiter_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let mut holder = pool.get().expect_worker();
        let mut waiters = wait(10, || pool.get());
        while !waiters.is_empty() {
            holder.state.kill();
            drop(holder);
            assert_eq!(woken(&waiters), [0]);
            waiters[1..].iter_mut().rev().for_each(Call::expect_pending);
            holder = waiters.remove(0).expect_worker();
        }
    }

    /// D9
    async fn workers_used_once_cost_each_request_two_polls<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        const REQUESTS: usize = 400;
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(REQUESTS, || pool.get());
        let mut polls = REQUESTS;
        holder.state.kill();
        drop(holder);
        while let (woken @ 1.., guards) = poll_woken(&mut waiters) {
            polls += woken;
            guards.iter().for_each(|guard| guard.state.kill());
        }
        assert!(waiters.is_empty());
        assert_eq!((polls, factory.calls()), (2 * REQUESTS, REQUESTS + 1));
    }

    /// D12
    async fn a_clear_ends_when_the_last_destructor_has<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let clear = Arc::new(Mutex::new(pool.clear()));
        clear.lock().unwrap().expect_pending();
        let during = Arc::clone(&clear);
        factory.on(Callback::Drop, move |_| during.lock().unwrap().expect_pending());
        drop(holder);
        clear.lock().unwrap().expect_ready();
    }

    /// D13
    async fn a_worker_holds_its_slot_until_its_destructor_has_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let newcomer = Arc::new(Mutex::new(pool.get()));
        let during = Arc::clone(&newcomer);
        factory.on(Callback::Drop, move |_| during.lock().unwrap().expect_pending());
        holder.state.kill();
        drop(holder);

        factory.no_longer_on(Callback::Drop);
        drop(newcomer.lock().unwrap().expect_worker());
        assert_eq!(factory.peak(), 1);
    }

    /// D23
    async fn a_waiter_that_a_clear_ends_hears_so_whatever_it_had_been_told<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_well in [false, true] {
            let (pool, _factory) = Setup::max(2).open::<P>();
            let [holder, _other] = [pool.get(), pool.get()].map(|mut call| call.expect_worker());
            let mut waiter = pool.get();
            waiter.expect_pending();
            holder.state.is_well.store(is_well, SeqCst);
            drop(holder);
            assert!(waiter.is_woken());
            pool.clear().expect_pending();
            waiter.expect_code(PoolErrorCode::Cleared);
        }
    }

    async fn idle_workers_expire_by_the_clock_of_the_runtime<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).idle_timeout(1).open::<P>();
        drop(pool.get().expect_worker());
        assert_eq!(pool.cleanup(), 0);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pool.cleanup(), 1);
    }
}

/// D1
#[test]
fn a_hash_that_panics_leaves_the_pool_in_use() {
    watched(|| async {
        let keys = ProbedKeys::open(KeyedWorkerPoolConfig::default());
        drop(keys.get(1).expect_worker());
        keys.probe.hash_panics.store(true, SeqCst);
        let mut asker = keys.get(1);
        assert!(panic_of(|| drop(asker.poll())).is_some());

        keys.probe.hash_panics.store(false, SeqCst);
        drop(keys.get(1).expect_worker());
    });
}

/// D8
#[test]
fn dead_workers_of_one_key_neither_wake_nor_reorder_who_waits_for_another() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<Keyed>();
        let holder = pool.get_of(2).expect_worker();
        let mut waiters = wait(3, || pool.get_of(2));
        for _ in 0..10 {
            pool.get_of(1).expect_worker().state.kill();
            assert_eq!(woken(&waiters), []);
            waiters.iter_mut().rev().for_each(Call::expect_pending);
        }
        drop(holder);
        assert_eq!(woken(&waiters), [0]);
    });
}

/// D10
#[test]
fn a_class_that_is_full_is_not_created_in_a_loop() {
    watched(|| async {
        const REQUESTS: usize = 200;
        let (pool, factory) = Setup::default().max_per_class(1).open::<Classified>();
        let holder = pool.get_any().expect_worker();
        let mut waiters = wait(REQUESTS, || pool.get_any());
        factory.gate();
        holder.state.kill();
        drop(holder);
        while let (1.., guards) = poll_woken(&mut waiters) {
            guards.iter().for_each(|guard| guard.state.kill());
            drop(guards);
            while factory.waiting() > 0 {
                factory.end(Outcome::Worker);
            }
        }
        assert!(waiters.is_empty());
        assert_eq!(factory.calls(), 2 * REQUESTS + 1, "once in vain and once for good");
    });
}

/// D11
#[test]
fn requests_that_time_out_cost_no_victims_beyond_the_creations_that_run() {
    watched(|| async {
        let (pool, factory) = Setup::max(30).open::<Classified>();
        let guards: Vec<_> = (0..30).map(|_| pool.get_of(1).expect_worker()).collect();
        drop(guards);
        factory.gate();
        for request in wait(30, || pool.get_of(2)) {
            drop(request);
        }
        assert_eq!(factory.destroyed(), 20);
    });
}

/// D14
#[test]
fn twenty_creations_run_at_a_time() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        factory.gate();
        let _any = wait(15, || pool.get_any());
        let _classified = wait(15, || pool.get_of(1));
        assert_eq!(factory.waiting(), 20);
    });
}

/// D15
#[test]
fn who_waits_for_other_keys_costs_nothing() {
    let cost = |others| {
        let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1));
        let keys = ProbedKeys::open(config);
        let _holders: Vec<_> = (0..others).map(|key| keys.get(key).expect_worker()).collect();
        let _waiters: Vec<_> = (0..others).flat_map(|key| wait(1, || keys.get(key))).collect();
        let before = keys.probe.calls();
        let holder = keys.get(others).expect_worker();
        let mut waiter = keys.get(others);
        waiter.expect_pending();
        drop(holder);
        drop(waiter.expect_worker());
        keys.probe.calls() - before
    };
    watched(move || async move { assert_eq!(cost(1), cost(500)) });
}

/// D16
#[test]
fn idle_workers_of_other_classes_cost_a_request_nothing() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        let of_two = pool.get_of(2).expect_worker();
        let others: Vec<_> = (0..500).map(|_| pool.get_of(1).expect_worker()).collect();
        drop((of_two, others));
        for callback in [Callback::IsWork, Callback::Names, Callback::Serves] {
            factory.on(callback, |id| assert_eq!(id, 0, "only the worker that serves is asked"));
        }
        assert_eq!(pool.get_of(2).expect_worker().id(), 0);
    });
}

/// D18
#[test]
fn a_slot_for_a_younger_request_leaves_the_older_ones_in_their_order() {
    watched(|| async {
        let (pool, _factory) = Setup::max(4).max_per_class(2).open::<Classified>();
        let [of_one, of_two, _two, _three] =
            [1, 2, 2, 3].map(|class| pool.get_of(class).expect_worker());
        let mut waiters = wait(2, || pool.get_of(2));
        let mut youngest = pool.get_of(3);
        youngest.expect_pending();
        drop(of_one);
        let _guard = youngest.expect_worker();
        waiters.iter_mut().rev().for_each(Call::expect_pending);
        drop(of_two);
        assert_eq!(woken(&waiters), [0]);
    });
}

/// D19
#[test]
fn later_requests_do_not_overtake_an_older_one_for_ever() {
    watched(|| async {
        let (pool, _factory) = Setup::max(2).open::<Classified>();
        let _of_two = pool.get_of(2).expect_worker();
        let mut holder = pool.get_of(1).expect_worker();
        let mut oldest = pool.get_of(2);
        oldest.expect_pending();
        let mut overtakes = 0;
        while overtakes < 100 {
            let mut younger = pool.get_of(1);
            younger.expect_pending();
            drop(holder);
            if oldest.is_woken() {
                break;
            }
            overtakes += 1;
            holder = younger.expect_worker();
        }
        assert_eq!(overtakes, 16);
        drop(oldest.expect_worker());
    });
}

/// D21
#[test]
fn a_request_for_any_worker_does_not_sleep_beside_a_free_slot() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_per_class(1).open::<Classified>();
        let holder = pool.get_of(0).expect_worker();
        let mut waiter = pool.get_any();
        waiter.expect_pending();
        assert_eq!(factory.calls(), 2, "what was created in vain was of a full class");
        holder.state.kill();
        drop(holder);
        assert!(waiter.is_woken());
        assert_eq!(waiter.expect_worker().id(), 2);
    });
}

/// D22
#[test]
fn a_worker_that_changes_its_mind_does_not_rest_beside_who_waits_for_it() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).max_per_class(1).open::<Classified>();
        let holder = pool.get_of(1).expect_worker();
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        let state = Arc::clone(&holder.state);
        let is_asked_again = AtomicBool::new(false);
        factory.on(Callback::Serves, move |_| {
            if is_asked_again.swap(true, SeqCst) {
                state.deny_own();
            }
        });
        drop(holder);
        assert!(waiter.is_woken());
        drop(waiter.expect_worker());
    });
}

/// Holds `count` workers at a time, and no more.
fn assert_all_can_be_held<P: TestPool>(pool: &P, count: usize) {
    let _guards: Vec<_> = (0..count).map(|_| pool.get().expect_worker()).collect();
    pool.get().expect_pending();
}

/// Lets idle workers grow older.
async fn pass(time: Duration) {
    tokio::time::advance(time).await;
}
