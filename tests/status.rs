//! What a pool says of itself is true at one moment.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;

use sfo_pool::{KeyedWorker, KeyedWorkerPoolConfig, PoolPhase, PoolStatus};

use common::*;

/// total, idle, borrowed, creating, waiting
fn counts(status: &PoolStatus) -> [usize; 5] {
    let PoolStatus { total, idle, borrowed, creating, waiting, .. } = *status;
    [total, idle, borrowed, creating, waiting]
}

laws! {
    async fn everybody_is_counted_once<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).open::<P>();
        let expect = |expected: [usize; 5]| assert_eq!(counts(&pool.status()), expected);
        expect([0; 5]);
        factory.gate();
        let mut creating = pool.get();
        expect([0; 5]);
        creating.expect_pending();
        factory.open_gate();
        expect([1, 0, 0, 1, 0]);
        let mut held = pool.take(2);
        expect([3, 0, 2, 1, 0]);
        drop(held.pop());
        expect([3, 1, 1, 1, 0]);
        held.push(pool.get().expect_worker());
        let waiters = wait(2, || pool.get());
        expect([3, 0, 2, 1, 2]);
        drop(held.pop());
        // On its way to a request.
        expect([3, 0, 2, 1, 1]);
        drop(waiters);
        expect([3, 1, 1, 1, 0]);
        factory.end(Outcome::Error("down"));
        creating.expect_error();
        expect([2, 1, 1, 0, 0]);
        drop(P::detach(held.remove(0)));
        expect([1, 1, 0, 0, 0]);
        pool.clear().expect_ready();
        expect([0; 5]);
    }

    async fn a_worker_that_is_asked_or_recycled_is_borrowed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(2);
        let setup = setup.with(|options| options.with_recycle_after(Some(secs(0))));
        let (pool, factory) = setup.open::<P>();
        drop(pool.take(2));
        let seen = Arc::new(Mutex::new(Vec::new()));
        for callback in [Callback::IsWork, Callback::Recycle] {
            let (pool, seen) = (pool.clone(), Arc::clone(&seen));
            factory.on(callback, move |_| seen.lock().unwrap().push(counts(&pool.status())));
        }
        let guard = pool.get().expect_worker();
        assert_eq!(*seen.lock().unwrap(), [[2, 1, 1, 0, 0]; 2]);
        [Callback::IsWork, Callback::Recycle].iter().for_each(|&it| factory.no_longer_on(it));
        drop(guard);
    }

    async fn a_worker_counts_until_its_destructor_has_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for how in 0..3 {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let within = pool.clone();
            factory.on(Callback::Drop, move |_| {
                let [total, idle, _, creating, _] = counts(&within.status());
                assert_eq!([total, idle, creating], [1, 0, 0]);
            });
            match how {
                0 => P::discard(holder),
                1 => {
                    pool.invalidate();
                    drop(holder);
                }
                _ => {
                    drop(holder);
                    pool.invalidate();
                }
            }
            factory.no_longer_on(Callback::Drop);
            assert_eq!((counts(&pool.status()), factory.destroyed()), ([0; 5], 1));
        }
    }

    async fn the_phase_and_the_limit_are_told<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(2).open::<P>();
        let told = || (pool.status().phase, pool.status().max_count);
        assert_eq!(told(), (PoolPhase::Open, Some(2)));
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        assert_eq!(told(), (PoolPhase::Clearing, Some(2)));
        drop(holder);
        clear.expect_ready();
        pool.resize(None).unwrap();
        assert_eq!(told(), (PoolPhase::Open, None));
        pool.resize(Some(u16::MAX)).unwrap();
        pool.close().expect_ready();
        assert_eq!(told(), (PoolPhase::Closed, Some(65_535)));
    }

    /// MT-1
    async fn the_counts_of_one_moment_agree_whatever_others_do<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(2).open::<P>();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for seed in 0..3 {
                let (pool, is_over) = (&pool, &is_over);
                scope.spawn(move || {
                    let mut dice = Dice::new(seed);
                    let (mut calls, mut guards) = (Vec::new(), Vec::new());
                    while !is_over.load(SeqCst) {
                        match dice.roll(5) {
                            0 if calls.len() < 3 => calls.push(pool.get()),
                            1 => drop(dice.pick(&mut guards)),
                            2 => if let Some(guard) = dice.pick(&mut guards) {
                                P::discard(guard);
                            }
                            3 => guards.extend(pool.try_get().unwrap()),
                            _ => if let Some(mut call) = dice.pick(&mut calls) {
                                match call.poll() {
                                    Poll::Pending => calls.push(call),
                                    Poll::Ready(result) => guards.extend(result.ok()),
                                }
                            }
                        }
                    }
                });
            }
            let check = || {
                let [total, idle, borrowed, creating, waiting] = counts(&pool.status());
                total <= 2 && idle + borrowed + creating <= total && waiting <= 9
            };
            let agree = (0..20_000).all(|_| check());
            is_over.store(true, SeqCst);
            assert!(agree, "{:?}", pool.status());
        });
        assert_eq!(counts(&pool.status())[2..], [0, 0, 0]);
    }
}

#[test]
fn each_key_has_a_status_of_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Keyed>();
        let mut held = [1, 1, 2, 2, 3].map(|key| Some(pool.get_of(key).expect_worker()));
        held[2].take();
        held[4].take();
        let _waiters = wait(2, || pool.get_of(1));
        factory.gate();
        let _creating = wait(1, || pool.get_of(4));
        let counts_of = |key| counts(&pool.0.status_of(key));
        assert_eq!(counts_of(1), [2, 0, 2, 0, 2]);
        assert_eq!(counts_of(2), [2, 1, 1, 0, 0]);
        assert_eq!(counts_of(3), [1, 1, 0, 0, 0]);
        assert_eq!(counts_of(4), [1, 0, 0, 1, 0]);
        assert_eq!(counts_of(5), [0; 5]);
        assert_eq!(counts(&pool.status()), [6, 2, 3, 1, 2]);
        let none = pool.0.status_of(5);
        assert_eq!((none.max_count, none.phase), (Some(2), PoolPhase::Open));
        pool.close().expect_pending();
        assert_eq!(pool.0.status_of(5).phase, PoolPhase::Closed);
    });
}

#[test]
fn no_key_counts_those_of_another() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<Keyed>();
        let _held: Vec<_> = (0..100).map(|key| pool.get_of(key).expect_worker()).collect();
        let _waiters: Vec<_> = (0..100).map(|key| wait(1, || pool.get_of(key))).collect();
        assert!((0..100).all(|key| counts(&pool.0.status_of(key)) == [1, 0, 1, 0, 1]));
        assert_eq!(counts(&pool.status()), [100, 0, 100, 0, 100]);
    });
}

#[test]
fn a_question_for_a_key_leaves_nothing_of_it() {
    watched(|| async {
        let keys = ProbedKeys::open(KeyedWorkerPoolConfig::default());
        let key = keys.get(1).expect_worker().primary_key();
        let kept = keys.keys();
        assert_eq!(keys.pool.status_of(key).idle, 1);
        assert_eq!(keys.keys(), kept - 1);
    });
}
