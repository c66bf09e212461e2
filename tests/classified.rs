//! Classes: who is served by which worker, who makes way for whom, and how far a pool exceeds its
//! target.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use common::*;
use sfo_pool::{ClassifiedWorkerPoolConfig, PoolErrorCode};

type Guard = <Classified as TestPool>::Guard;

#[test]
fn a_request_takes_a_worker_of_its_own_class_before_any_stranger() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        let [own, stranger] = hold(&pool, [1, 2]);
        stranger.state.also_serve(1);
        drop(own);
        drop(stranger);
        factory.on(Callback::Serves, |id| assert_eq!(id, 0, "no stranger is asked"));
        assert_eq!(pool.get_of(1).expect_worker().id(), 0);
    });
}

#[test]
fn of_its_own_class_a_request_takes_the_most_recently_used_worker() {
    watched(|| async {
        let (pool, _factory) = Setup::default().open::<Classified>();
        let [a, b, c] = hold(&pool, [1, 1, 1]);
        drop([b, c, a]);
        assert_eq!(pool.get_of(1).expect_worker().id(), 0);
    });
}

#[test]
fn of_the_strangers_the_most_recently_used_one_that_is_valid_serves() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        let [a, b, c, d] = hold(&pool, [2, 3, 4, 5]);
        for guard in [&a, &b, &c] {
            guard.state.also_serve(1);
        }
        drop([c, a, b, d]);
        assert_eq!(pool.get_of(1).expect_worker().id(), 1);
        assert_eq!(factory.calls(), 4, "although there is room to create");
    });
}

#[test]
fn a_stranger_that_served_another_class_keeps_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let guard = pool.get_of(2).expect_worker();
        guard.state.also_serve(1);
        drop(guard);
        drop(pool.get_of(1).expect_worker());
        assert_eq!(pool.get_of(2).expect_worker().id(), 0);
        assert_eq!(factory.calls(), 1);
    });
}

#[test]
fn a_request_for_any_takes_the_most_recently_used_worker_of_all() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        let [a, b, c] = hold(&pool, [1, 2, 3]);
        drop([a, c, b]);
        let held = [(); 3].map(|()| pool.get_any().expect_worker());
        assert_eq!(held.each_ref().map(|guard| guard.id()), [1, 2, 0]);
        assert_eq!(factory.calls(), 3);
    });
}

#[test]
fn a_request_for_any_creates_without_naming_a_class() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        factory.next(Outcome::WorkerOf(7));
        let guard = pool.get_any().expect_worker();
        drop(guard);
        assert_eq!(pool.get_of(7).expect_worker().id(), 0, "it has the class that it named");
    });
}

/// CL-4
#[test]
fn the_least_recently_used_idle_stranger_makes_way() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let [a, b] = hold(&pool, [2, 3]);
        drop([b, a]);
        let _first = pool.get_of(1).expect_worker();
        assert_eq!((factory.live_of(2), factory.live_of(3), factory.live()), (1, 0, 2));
        let _second = pool.get_of(1).expect_worker();
        assert_eq!((factory.live_of(2), factory.calls(), factory.live()), (0, 4, 2));
    });
}

#[test]
fn the_victim_goes_before_its_replacement_comes() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        drop(hold(&pool, [2, 2]));
        let events = Arc::new(Mutex::new(Vec::new()));
        for callback in [Callback::Create, Callback::Drop] {
            let events = Arc::clone(&events);
            factory.on(callback, move |_| events.lock().unwrap().push(callback));
        }
        let _guard = pool.get_of(1).expect_worker();
        assert_eq!(*events.lock().unwrap(), [Callback::Drop, Callback::Create]);
        assert_eq!(factory.peak(), 2);
    });
}

#[test]
fn an_expired_worker_makes_way_before_a_warm_one() {
    watched(|| async {
        for expired in [1, 2] {
            let (pool, factory) = Setup::max(2).idle_timeout(10).open::<Classified>();
            let [old, warm] = hold(&pool, [expired, 3]);
            drop(old);
            advance(10).await;
            drop(warm);
            let _guard = pool.get_of(1).expect_worker();
            assert_eq!((factory.destroyed(), factory.live_of(3)), (1, 1));
        }
    });
}

#[test]
fn a_dead_worker_makes_way_before_a_healthy_one() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let [own, stranger] = hold(&pool, [1, 2]);
        let state = Arc::clone(&own.state);
        drop([own, stranger]);
        state.kill();
        assert_eq!(pool.get_of(1).expect_worker().id(), 2);
        assert_eq!((factory.destroyed(), factory.live_of(2)), (1, 1));
    });
}

/// CL-1
#[test]
fn a_borrowed_worker_is_no_victim() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let [of_one, of_two] = hold(&pool, [1, 2]);
        let mut waiter = pool.get_of(2);
        waiter.expect_pending();
        assert_eq!(factory.destroyed(), 0);
        drop(of_one);
        assert_eq!(waiter.expect_worker().id(), 2);
        assert_eq!((factory.destroyed(), factory.live(), of_two.id()), (1, 2, 1));
    });
}

/// CL-3
#[test]
fn a_creation_is_no_victim() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        factory.gate();
        let mut a = pool.get_of(1);
        a.expect_pending();
        let mut b = pool.get_of(2);
        b.expect_pending();
        drop(b);
        let mut c = pool.get_of(2);
        c.expect_pending();
        let mut d = pool.get_of(1);
        d.expect_pending();
        assert_eq!((factory.waiting(), factory.calls()), (2, 3), "creations count");
        factory.end(Outcome::Worker);
        factory.end(Outcome::Worker);
        let guards = [a.expect_worker(), c.expect_worker()];
        assert_eq!(factory.destroyed(), 0);
        drop(guards);
        assert_eq!(d.expect_worker().id(), 0);
    });
}

#[test]
fn a_class_with_nothing_exceeds_the_target_by_one() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let _one = pool.get_of(1).expect_worker();
        let _two = pool.get_of(2).expect_worker();
        pool.get_of(2).expect_pending();
        pool.get_of(1).expect_pending();
        pool.get_any().expect_pending();
        let _three = pool.get_of(3).expect_worker();
        assert_eq!((factory.live(), factory.destroyed()), (3, 0));
    });
}

#[test]
fn a_class_under_creation_exceeds_the_target_no_further() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let _one = pool.get_of(1).expect_worker();
        factory.gate();
        let _twos = wait(3, || pool.get_of(2));
        assert_eq!(factory.waiting(), 1);
    });
}

#[test]
fn nothing_exceeds_the_target_while_something_is_idle() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let [_one, three] = hold(&pool, [1, 3]);
        drop(three);
        let _two = pool.get_of(2).expect_worker();
        assert_eq!((factory.peak(), factory.live_of(3)), (2, 0));
    });
}

/// CL-7
#[test]
fn the_pool_falls_back_to_its_target_in_whichever_order_workers_return() {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        for round in 0..1000 {
            let mut guards = hold(&pool, [1, 2, 3]).map(Some);
            assert_eq!(factory.live(), 3);
            for index in ORDERS[round % ORDERS.len()] {
                guards[index] = None;
                assert_eq!(factory.live(), 2, "the first is destroyed, the others are kept");
            }
        }
        assert_eq!(factory.peak(), 3);
    });
}

#[test]
fn a_surplus_worker_may_serve_who_waits_for_it() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let [_one, two] = hold(&pool, [1, 2]);
        let mut waiter = pool.get_of(2);
        waiter.expect_pending();
        drop(two);
        let guard = waiter.expect_worker();
        assert_eq!((guard.id(), factory.destroyed()), (1, 0));
        drop(guard);
        assert_eq!(factory.destroyed(), 1);
    });
}

#[test]
fn a_slot_that_becomes_free_above_the_target_vanishes() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let [one, two, three] = hold(&pool, [1, 2, 3]);
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        for surplus in [two, three] {
            surplus.state.kill();
            drop(surplus);
            assert!(!waiter.is_woken());
        }
        assert_eq!(factory.live(), 1);
        drop(one);
        assert_eq!(waiter.expect_worker().id(), 0);
    });
}

#[test]
fn a_class_that_loses_its_last_worker_may_exceed_the_target_again() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let [_one, two] = hold(&pool, [1, 2]);
        let mut waiters = wait(2, || pool.get_of(2));
        two.state.kill();
        drop(two);
        assert_eq!(woken(&waiters), [0], "one worker of a class");
        let _guard = waiters.remove(0).expect_worker();
        assert_eq!(factory.live(), 2);
    });
}

#[test]
fn a_class_that_loses_its_last_creation_may_exceed_the_target_again() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let _one = pool.get_of(1).expect_worker();
        factory.gate();
        let mut failing = pool.get_of(2);
        failing.expect_pending();
        let mut waiters = wait(3, || pool.get_of(2));
        factory.end(Outcome::Error("no"));
        failing.expect_code(PoolErrorCode::Failed);
        assert_eq!(woken(&waiters), [0]);

        let mut cancelled = waiters.remove(0);
        cancelled.expect_pending();
        drop(cancelled);
        assert_eq!(woken(&waiters), [0]);
        waiters[0].expect_pending();
        factory.end(Outcome::Worker);
        let _guard = waiters.remove(0).expect_worker();
        assert!(woken(&waiters).is_empty());
    });
}

#[test]
fn a_class_at_its_limit_waits_for_a_worker_that_is_valid_for_it() {
    watched(|| async {
        let (pool, factory) = Setup::max(10).max_per_class(1).open::<Classified>();
        let [_one, unfit, fit] = hold(&pool, [1, 2, 3]);
        fit.state.also_serve(1);
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        drop(unfit);
        assert!(!waiter.is_woken());
        drop(fit);
        assert_eq!((waiter.expect_worker().id(), factory.calls()), (2, 3));
    });
}

#[test]
fn a_creation_counts_against_the_limit_of_its_class() {
    watched(|| async {
        let (pool, factory) = Setup::default().max_per_class(2).open::<Classified>();
        factory.gate();
        let _ones = wait(3, || pool.get_of(1));
        let _twos = wait(3, || pool.get_of(2));
        assert_eq!(factory.waiting(), 4);
    });
}

#[test]
fn a_class_at_its_limit_evicts_nobody() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_per_class(1).open::<Classified>();
        let [_one, two] = hold(&pool, [1, 2]);
        drop(two);
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        drop(pool.get_of(2).expect_worker());
        assert_eq!((factory.destroyed(), factory.calls()), (0, 2));
    });
}

#[test]
fn a_slot_being_cleared_counts_against_the_limit_of_the_class_it_is_for() {
    watched(|| async {
        let (pool, factory) = Setup::max(3).max_per_class(2).open::<Classified>();
        let [_two, a, b] = hold(&pool, [2, 1, 1]);
        drop([a, b]);
        let newcomer = Mutex::new(Some(pool.get_of(2)));
        factory.on(Callback::Drop, move |_| {
            let newcomer = newcomer.lock().unwrap().take();
            newcomer.into_iter().for_each(|mut call| call.expect_pending());
        });
        let _guard = pool.get_of(2).expect_worker();
        assert_eq!((factory.destroyed(), factory.live_of(1)), (1, 1));
    });
}

/// D10
#[test]
fn a_worker_for_any_of_a_full_class_is_destroyed_and_its_request_waits() {
    watched(|| async {
        let (pool, factory) = Setup::max(10).max_per_class(1).open::<Classified>();
        let [zero, five] = hold(&pool, [0, 5]);
        let mut waiters = wait(2, || pool.get_any());
        assert_eq!((factory.calls(), factory.destroyed()), (4, 2));
        waiters.iter_mut().for_each(Call::expect_pending);
        assert_eq!(factory.calls(), 4, "it does not try again in a loop");

        drop(five);
        assert_eq!(woken(&waiters), [0]);
        let guard = waiters.remove(0).expect_worker();
        assert_eq!(guard.id(), 1, "any worker serves it");
        zero.state.kill();
        drop(zero);
        assert_eq!(waiters.remove(0).expect_worker().state.key.load(SeqCst), 0);
        assert_eq!(factory.calls(), 5, "when its class has room");
    });
}

/// D10
#[test]
fn room_for_one_worker_of_a_class_lets_one_request_for_any_try_again() {
    watched(|| async {
        let (pool, factory) = Setup::default().max_per_class(1).open::<Classified>();
        let holder = pool.get_of(0).expect_worker();
        let mut waiters = wait(5, || pool.get_any());
        let calls = factory.calls();
        holder.state.kill();
        drop(holder);
        assert_eq!(woken(&waiters), [0]);
        let _guard = waiters.remove(0).expect_worker();
        assert_eq!(factory.calls(), calls + 1);
    });
}

/// D10
#[test]
fn a_request_for_any_whose_worker_was_of_a_full_class_waits_in_its_original_place() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_per_class(1).open::<Classified>();
        let zero = pool.get_of(0).expect_worker();
        factory.gate();
        let mut first = pool.get_any();
        first.expect_pending();
        let mut others = wait(2, || pool.get_any());
        factory.end(Outcome::Worker);
        first.expect_pending();
        assert_eq!(woken(&others), [0], "the next one tries in the slot");
        others[0].expect_pending();
        drop(zero);
        assert!(first.is_woken() && !others[1].is_woken());
        assert_eq!(first.expect_worker().id(), 0);
    });
}

#[test]
fn a_worker_goes_to_the_oldest_waiter_that_it_is_valid_for() {
    watched(|| async {
        let (pool, _factory) = Setup::max(2).open::<Classified>();
        let [mut one, three] = hold(&pool, [1, 3]);
        let mut unfit = pool.get_of(3);
        unfit.expect_pending();
        let mut fit = Vec::new();
        for is_for_any in [true, false, false, true] {
            fit.extend(wait(1, || if is_for_any { pool.get_any() } else { pool.get_of(1) }));
        }
        while !fit.is_empty() {
            drop(one);
            assert_eq!(woken(&fit), [0]);
            one = fit.remove(0).expect_worker();
        }
        drop(three);
        assert_eq!(unfit.expect_worker().id(), 1);
    });
}

#[test]
fn a_worker_goes_to_an_older_waiter_of_another_class_that_it_serves() {
    watched(|| async {
        let (pool, _factory) = Setup::max(2).open::<Classified>();
        let [one, _three] = hold(&pool, [1, 3]);
        one.state.also_serve(3);
        let mut waiters = wait(1, || pool.get_of(3));
        waiters.extend(wait(1, || pool.get_of(1)));
        drop(one);
        assert_eq!(woken(&waiters), [0]);
        assert_eq!(waiters.remove(0).expect_worker().id(), 0);
    });
}

#[test]
fn a_worker_that_fits_nobody_makes_way_for_the_oldest_who_could_create() {
    watched(|| async {
        let (pool, factory) = Setup::max(4).max_per_class(2).open::<Classified>();
        let [one, _two, _full, _three] = hold(&pool, [1, 2, 2, 3]);
        let mut waiters = wait(1, || pool.get_of(2));
        waiters.extend(wait(2, || pool.get_of(3)));
        drop(one);
        assert_eq!(woken(&waiters), [1], "the oldest of them whose class has room");
        assert_eq!(waiters.remove(1).expect_worker().id(), 4);
        assert_eq!((factory.live_of(1), factory.peak()), (0, 4));
    });
}

#[test]
fn a_surplus_worker_that_nobody_needs_is_destroyed() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        let [one, two] = hold(&pool, [1, 2]);
        drop(one);
        assert_eq!((factory.live_of(1), factory.live()), (0, 1));
        drop(two);
        assert_eq!(factory.live(), 1, "what the target has room for is kept");
    });
}

/// D11
#[test]
fn a_request_costs_one_victim_however_often_it_is_polled() {
    watched(|| async {
        let (pool, factory) = Setup::max(3).open::<Classified>();
        drop(hold(&pool, [1, 1, 1]));
        factory.gate();
        let mut call = pool.get_of(2);
        (0..5).for_each(|_| call.expect_pending());
        assert_eq!(factory.destroyed(), 1);
    });
}

/// D11
#[test]
fn the_slot_of_a_victim_whose_request_failed_or_was_dropped_serves_the_next() {
    watched(|| async {
        let (pool, factory) = Setup::max(3).open::<Classified>();
        drop(hold(&pool, [1, 1, 1]));
        factory.gate();
        for outcome in [None, Some(Outcome::Error("no")), None] {
            let mut call = pool.get_of(2);
            call.expect_pending();
            if let Some(outcome) = outcome {
                factory.end(outcome);
                call.expect_code(PoolErrorCode::Failed);
            }
        }
        let mut call = pool.get_of(2);
        call.expect_pending();
        factory.end(Outcome::Worker);
        let _guard = call.expect_worker();
        assert_eq!((factory.destroyed(), factory.live_of(1)), (1, 2));
        pool.get_of(2).expect_pending();
        assert_eq!(factory.destroyed(), 2);
    });
}

#[test]
fn the_slot_of_a_victim_goes_to_the_next_if_its_request_is_dropped_meanwhile() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        let [one, _two] = hold(&pool, [1, 2]);
        let oldest = Arc::new(Mutex::new(wait(1, || pool.get_of(2))));
        let mut next = wait(2, || pool.get_of(2));
        let dropped = Arc::clone(&oldest);
        factory.on(Callback::Drop, move |_| dropped.lock().unwrap().clear());
        drop(one);
        assert_eq!(woken(&next), [0]);
        assert_eq!(next.remove(0).expect_worker().id(), 2);
        assert_eq!(factory.peak(), 2);
    });
}

/// CL-6
#[test]
fn classes_that_fit_together_destroy_nothing() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        for _ in 0..50 {
            drop(pool.get_of(1).expect_worker());
            drop(pool.get_of(2).expect_worker());
        }
        assert_eq!((factory.calls(), factory.destroyed()), (2, 0));
    });
}

/// CL-6
#[test]
fn one_worker_serves_all_who_wait_for_its_class() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        let mut holder = pool.get_of(2).expect_worker();
        for mut waiter in wait(2, || pool.get_of(2)) {
            drop(holder);
            holder = waiter.expect_worker();
        }
        assert_eq!((factory.calls(), factory.destroyed(), factory.live_of(1)), (2, 1, 0));
    });
}

/// D15
#[test]
fn a_returned_worker_is_asked_of_each_waiting_class_once() {
    watched(|| async {
        let (pool, factory) = Setup::max(3).open::<Classified>();
        let [mut one, _two, _three] = hold(&pool, [1, 2, 3]);
        let _others = [wait(50, || pool.get_of(2)), wait(50, || pool.get_of(3))];
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        factory.on(Callback::Serves, move |_| {
            count.fetch_add(1, SeqCst);
        });
        drop(one);
        assert_eq!(asked.load(SeqCst), 3, "of its own class and the two that wait");
        one = waiter.expect_worker();
        assert_eq!((one.id(), asked.load(SeqCst)), (0, 3), "and not by who receives it");
    });
}

/// D18, D19
#[test]
fn at_most_sixteen_returns_in_a_row_pass_the_oldest_who_could_use_the_slot() {
    watched(|| async {
        let (pool, factory) = Setup::max(4).open::<Classified>();
        let [_two, one, another, third] = hold(&pool, [2, 1, 1, 1]);
        let mut starved = wait(2, || pool.get_of(2));
        for returned in [one, another] {
            let kept = pass_sixteen_times(&pool, returned);
            assert!(woken(&starved).is_empty());
            let mut younger = pool.get_of(1);
            younger.expect_pending();
            drop(kept);
            assert!(!younger.is_woken());
            assert_eq!(woken(&starved), [0]);
            std::mem::forget(starved.remove(0).expect_worker());
        }
        assert_eq!((third.id(), factory.live_of(1), factory.peak()), (3, 1, 4));
    });
}

#[test]
fn returns_that_passed_somebody_who_has_gone_are_not_counted_for_the_next() {
    watched(|| async {
        let (pool, _factory) = Setup::max(3).open::<Classified>();
        let [_two, one, _another] = hold(&pool, [2, 1, 1]);
        let mut starved = wait(2, || pool.get_of(2));
        let kept = pass_sixteen_times(&pool, one);
        drop(starved.remove(0));
        let _kept = pass_sixteen_times(&pool, kept);
        assert!(woken(&starved).is_empty());
    });
}

/// Starts, on each return, a younger request that gets the worker.
#[track_caller]
fn pass_sixteen_times(pool: &Classified, mut holder: Guard) -> Guard {
    for pass in 1..=16 {
        let mut younger = pool.get_of(1);
        younger.expect_pending();
        drop(holder);
        assert!(younger.is_woken(), "return {pass}");
        holder = younger.expect_worker();
    }
    holder
}

laws! {
    async fn a_worker_that_changed_or_denies_its_class_while_borrowed_is_destroyed<P: TestPool>()
        on Classified, Any
    {
        let ways: [fn(&WorkerState); 2] = [|state| state.change_key(9), WorkerState::deny_own];
        for spoil in ways {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let mut waiter = pool.get();
            waiter.expect_pending();
            spoil(&holder.state);
            drop(holder);
            assert_eq!(waiter.expect_worker().id(), 1);
            assert_eq!((factory.destroyed(), factory.live()), (1, 1));
        }
    }
}

/// D14
#[test]
fn twenty_creations_run_at_a_time_for_classes_and_for_any_together() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        factory.gate();
        let mut waiters = wait(15, || pool.get_any());
        waiters.extend(wait(15, || pool.get_of(1)));
        assert_eq!(factory.waiting(), 20);
        factory.end(Outcome::Worker);
        let guard = waiters.remove(0).expect_worker();
        assert_eq!(woken(&waiters), [19]);
        waiters[19].expect_pending();
        assert_eq!(factory.waiting(), 20);
        drop(guard);
        assert!(waiters.iter().all(|call| !call.is_woken()), "it is of another class");
    });
}

/// D14
#[test]
fn a_request_that_only_the_limit_on_creations_stops_takes_no_victim_and_no_slot() {
    watched(|| async {
        let (pool, factory) = Setup::max(22).open::<Classified>();
        drop(hold(&pool, [9]));
        factory.gate();
        let mut creating = wait(20, || pool.get_of(1));
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        assert_eq!((factory.waiting(), factory.destroyed()), (20, 0));
        factory.end(Outcome::Worker);
        let guard = creating.remove(0).expect_worker();
        assert!(waiter.is_woken());
        waiter.expect_pending();
        assert_eq!((factory.waiting(), factory.destroyed()), (20, 0), "the slot was still free");
        drop(guard);
    });
}

/// D14
#[test]
fn a_request_that_the_limit_on_creations_stops_is_served_by_a_return() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        let holder = pool.get_of(1).expect_worker();
        factory.gate();
        let _creating = wait(20, || pool.get_of(1));
        let mut waiter = pool.get_of(1);
        waiter.expect_pending();
        drop(holder);
        assert_eq!(waiter.expect_worker().id(), 0);
    });
}

/// D14
#[test]
fn the_builders_set_what_the_fields_set() {
    let config = ClassifiedWorkerPoolConfig::default()
        .with_max_count(Some(1))
        .with_idle_timeout(Some(std::time::Duration::from_secs(2)))
        .with_max_count_per_classification(Some(3));
    assert_eq!(config.max_count, Some(1));
    assert_eq!(config.idle_timeout, Some(std::time::Duration::from_secs(2)));
    assert_eq!(config.max_count_per_classification, Some(3));
}

/// Holds a worker of each of these classes, in this order.
#[track_caller]
fn hold<const N: usize>(pool: &Classified, classes: [u32; N]) -> [Guard; N] {
    classes.map(|class| pool.get_of(class).expect_worker())
}

async fn advance(seconds: u64) {
    tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
}
#[test]
fn with_create_first_a_worker_makes_way_when_its_replacement_stands() {
    watched(|| async {
        let setup = Setup::max(1).with(|options| options.with_create_first(true));
        let (pool, factory) = setup.open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        factory.gate();
        let mut request = pool.get_of(2);
        request.expect_pending();
        assert_eq!((factory.destroyed(), pool.status().idle), (0, 1));
        factory.end(Outcome::Worker);
        let held = request.expect_worker();
        assert_eq!((factory.destroyed(), pool.status().total), (1, 1));
        drop(held);
        assert_eq!(pool.status().idle, 1);
    });
}

#[test]
fn with_create_first_a_creation_that_fails_costs_no_worker() {
    watched(|| async {
        let setup = Setup::max(1).with(|options| options.with_create_first(true));
        let (pool, factory) = setup.open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        factory.next(Outcome::Error("down"));
        pool.get_of(2).expect_error();
        assert_eq!(pool.get_of(1).expect_worker().id(), 0);
    });
}

#[test]
fn with_create_first_each_creation_above_the_target_has_a_victim_of_its_own() {
    watched(|| async {
        // Without the cap, a class that has nothing may exceed the target beside them.
        let setup = Setup::max(2)
            .with(|options| options.with_create_first(true).with_max_overshoot_count(Some(0)));
        let (pool, factory) = setup.open::<Classified>();
        let held = [pool.get_of(1).expect_worker(), pool.get_of(1).expect_worker()];
        drop(held);
        factory.gate();
        let mut requests: Vec<_> = (2..5).map(|class| pool.get_of(class)).collect();
        requests.iter_mut().for_each(Call::expect_pending);
        assert_eq!((factory.waiting(), pool.status().total), (2, 4));
        factory.end(Outcome::Worker);
        let _first = requests[0].expect_worker();
        assert_eq!(factory.destroyed(), 1);
    });
}

#[test]
fn classes_that_have_nothing_exceed_the_target_by_no_more_than_the_cap() {
    watched(|| async {
        for cap in [0, 1] {
            let setup = Setup::max(1).with(|options| options.with_max_overshoot_count(Some(cap)));
            let (pool, factory) = setup.open::<Classified>();
            let held = pool.get_of(1).expect_worker();
            let mut others = [pool.get_of(2), pool.get_of(3)];
            let mut served = Vec::new();
            for other in &mut others {
                served.extend(match other.poll() {
                    std::task::Poll::Ready(worker) => worker.ok(),
                    std::task::Poll::Pending => None,
                });
            }
            assert_eq!(served.len(), usize::from(cap));
            assert_eq!(factory.peak(), 1 + usize::from(cap));
            drop((held, served));
        }
    });
}

#[test]
fn options_for_classes_make_no_sense_in_other_pools() {
    watched(|| async {
        let setups = [
            Setup::max(1).with(|options| options.with_create_first(true)),
            Setup::max(1).with(|options| options.with_max_overshoot_count(Some(1))),
        ];
        for setup in setups {
            setup.clone().open::<General>().0.get().expect_code(PoolErrorCode::InvalidConfig);
            setup.open::<Keyed>().0.get().expect_code(PoolErrorCode::InvalidConfig);
        }
    });
}
