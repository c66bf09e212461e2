//! Limits that make no sense are reported; those that do are kept at every moment.

mod common;

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use sfo_pool::{PoolErrorCode, WorkerPool};
use tokio::runtime;
use tokio::time::advance;

use common::*;

/// A pool with this setup serves nobody, and says which limit is to blame.
#[track_caller]
fn expect_invalid<P: TestPool>(setup: Setup, limit: &str) {
    let (pool, factory) = setup.open::<P>();
    for _ in 0..2 {
        let error = pool.get().expect_error();
        assert_eq!(error.code(), PoolErrorCode::InvalidConfig);
        assert!(error.msg().contains(&format!("pool {limit} is zero")), "{}", error.msg());
        pool.clear().expect_ready();
        assert_eq!(pool.cleanup(), 0);
    }
    assert_eq!(factory.calls(), 0);
}

#[track_caller]
fn expect_limit<P: TestPool>(limit: u16) {
    let (pool, factory) = Setup::max(limit).open::<P>();
    let held = pool.take(usize::from(limit));
    let mut beyond = wait(1, || pool.get());
    assert_eq!(factory.calls(), usize::from(limit));
    drop(held);
    drop(beyond[0].expect_worker());
    assert_eq!(factory.calls(), usize::from(limit));
}

#[test]
fn a_limit_of_zero_is_reported_by_name() {
    watched(|| async {
        expect_invalid::<General>(Setup::max(0), "max_count");
        expect_invalid::<Keyed>(Setup::max(0), "max_count_per_key");
        expect_invalid::<Classified>(Setup::max(0), "max_count");
        expect_invalid::<Any>(Setup::max(0), "max_count");
        let per_class = || Setup::max(1).max_per_class(0);
        expect_invalid::<Classified>(per_class(), "max_count_per_classification");
        expect_invalid::<Any>(per_class(), "max_count_per_classification");

        let pool = General(WorkerPool::new(0, Factory::default()));
        pool.get().expect_code(PoolErrorCode::InvalidConfig);
    });
}

laws! {
    async fn a_creation_limit_of_zero_is_reported_by_name<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        expect_invalid::<P>(Setup::max(1).max_creations(0), "max_concurrent_creation_count");
    }

    async fn as_many_as_the_limit_and_not_one_more<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for limit in [1, 2, 20] {
            expect_limit::<P>(limit);
        }
    }

    async fn the_largest_limit_is_a_limit<P: TestPool>() on General, Classified {
        expect_limit::<P>(u16::MAX);
    }

    async fn without_a_limit_more_than_65_535_are_served<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::default().open::<P>();
        pool.take(70_000);
        assert_eq!((factory.peak(), factory.destroyed()), (70_000, 0));
    }

    /// D12, D13
    async fn a_worker_keeps_its_slot_until_its_destructor_returns<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_returned in [true, false] {
            let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
            let holder = pool.get().expect_worker();
            let newcomer = Arc::new(Mutex::new(None));
            factory.on(Callback::Drop, {
                let (pool, newcomer) = (pool.clone(), Arc::clone(&newcomer));
                move |_| *newcomer.lock().unwrap() = wait(1, || pool.get()).pop()
            });

            if is_returned {
                holder.state.kill();
                drop(holder);
            } else {
                drop(holder);
                advance(Duration::from_secs(10)).await;
                assert_eq!(pool.cleanup(), 1);
            }
            factory.no_longer_on(Callback::Drop);
            let mut newcomer = newcomer.lock().unwrap().take().unwrap();
            assert!(newcomer.is_woken());
            assert_eq!(newcomer.expect_worker().id(), 1);
            assert_eq!(factory.peak(), 1);
        }
    }

    /// OW-3
    async fn the_limit_is_kept_at_every_moment<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        const LIMIT: usize = 3;
        let (pool, factory) = Setup::max(3).open::<P>();
        factory.gate();
        factory.on(Callback::Create, {
            let factory = factory.clone();
            move |_| assert!(factory.live() + factory.waiting() < LIMIT, "a slot too many")
        });
        let mut dice = Dice::new(1);
        let (mut calls, mut guards) = (Vec::new(), Vec::<P::Guard>::new());
        for _ in 0..20_000 {
            match dice.roll(10) {
                0..3 if calls.len() < 2 * LIMIT => calls.push(pool.get()),
                3 => drop(dice.pick(&mut calls)),
                4 => drop(dice.pick(&mut guards)),
                5 => if let Some(guard) = dice.pick(&mut guards) {
                    guard.state.kill();
                }
                6 if factory.waiting() > 0 => {
                    let outcomes = [Outcome::Worker, Outcome::Worker, Outcome::Error("down")];
                    factory.end(outcomes[dice.roll(3)]);
                }
                _ => if let Some(mut call) = dice.pick(&mut calls) {
                    match call.poll() {
                        Poll::Pending => calls.push(call),
                        Poll::Ready(result) => guards.extend(result.ok()),
                    }
                }
            }
        }
        assert!(factory.destroyed() > 500, "much has happened");

        drop((calls, guards));
        factory.open_gate();
        let _held = pool.take(LIMIT);
        let _beyond = wait(1, || pool.get());
        assert_eq!((factory.live(), factory.peak()), (LIMIT, LIMIT));
        factory.no_longer_on(Callback::Create);
    }

    /// MT-1, OW-3
    async fn the_limit_is_kept_among_threads<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        thread::scope(|scope| {
            for seed in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    let runtime = runtime::Builder::new_current_thread().build().unwrap();
                    let mut dice = Dice::new(seed);
                    for _ in 0..1000 {
                        if dice.roll(3) == 0 {
                            drop(pool.get().poll());
                        }
                        let guard = runtime.block_on(pool.get().into_future()).unwrap();
                        if dice.roll(3) == 0 {
                            guard.state.kill();
                        }
                    }
                });
            }
        });
        assert!(factory.peak() <= 2, "{} workers at a time", factory.peak());
        let _held = pool.take(2);
        let _beyond = wait(1, || pool.get());
        assert_eq!(factory.live(), 2);
    }
}

#[test]
fn each_key_has_a_limit_of_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let _held: Vec<_> = (0..100).map(|key| pool.get_of(key).expect_worker()).collect();
        (0..100).for_each(|key| pool.get_of(key).expect_pending());
        assert_eq!(factory.live(), 100);
    });
}

#[test]
fn each_class_has_a_limit_of_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::default().max_per_class(2).open::<Classified>();
        let classes = || (0..100).flat_map(|class| [class; 2]);
        let _held: Vec<_> = classes().map(|class| pool.get_of(class).expect_worker()).collect();
        classes().for_each(|class| pool.get_of(class).expect_pending());
        assert_eq!((factory.live(), factory.destroyed()), (200, 0));
    });
}
