//! `try_get_worker` takes what is idle now, or nothing.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Closed, InvalidConfig};
use sfo_pool::{PoolErrorCode, PoolOptions};
use tokio::time::advance;

use common::*;

fn recycling_after(seconds: u64) -> impl FnOnce(PoolOptions) -> PoolOptions {
    move |options| options.with_recycle_after(Some(secs(seconds)))
}

#[track_caller]
fn expect_one<P: TestPool>(pool: &P) -> P::Guard {
    pool.try_get().expect("nothing fails").expect("there is one")
}

#[track_caller]
fn expect_none<P: TestPool>(pool: &P) {
    assert!(pool.try_get().expect("nothing fails").is_none());
}

#[track_caller]
fn expect_refused<P: TestPool>(pool: &P, code: PoolErrorCode) {
    assert_eq!(pool.try_get().err().expect("it fails").code(), code);
}

laws! {
    async fn there_is_an_idle_worker_or_nothing<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        expect_none(&pool);
        let mut guards = pool.take(2);
        expect_none(&pool);
        drop(guards.remove(0));
        drop(guards);
        let newest = expect_one(&pool);
        let oldest = expect_one(&pool);
        assert_eq!((newest.id(), oldest.id()), (1, 0));
        expect_none(&pool);
        drop(newest);
        assert_eq!((expect_one(&pool).id(), factory.calls()), (1, 2));
    }

    /// FR-1
    async fn nobody_who_waits_is_passed<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut b = wait(1, || pool.get()).remove(0);
        expect_none(&pool);
        drop(holder);
        expect_none(&pool);
        assert_eq!((b.expect_worker().id(), factory.calls()), (0, 1));
        assert_eq!(expect_one(&pool).id(), 0);
    }

    async fn it_needs_no_runtime<P: TestPool>() on General, Keyed, Classified, Any {
        let setup = Setup::max(2).idle_timeout(1000).acquire_timeout(10).with(|options| {
            let options = options.with_max_lifetime(Some(secs(1000))).with_max_use_count(Some(9));
            options.with_creation_timeout(Some(secs(1))).with_recycle_after(Some(secs(1000)))
        });
        let (pool, factory) = setup.open::<P>();
        drop(pool.take(2));
        factory.worker(1).kill();
        let theirs = pool.clone();
        thread::spawn(move || {
            let guard = expect_one(&theirs);
            expect_none(&theirs);
            drop(guard);
        })
        .join()
        .unwrap();
        assert_eq!((factory.live(), factory.calls()), (1, 2));
    }

    async fn the_dead_are_passed_and_destroyed<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(4).open::<P>();
        drop(pool.take(4));
        (1..4).for_each(|id| factory.worker(id).kill());
        assert_eq!(expect_one(&pool).id(), 0);
        assert_eq!((factory.live(), pool.status().total), (1, 1));
        factory.worker(0).kill();
        expect_none(&pool);
        assert_eq!((factory.live(), pool.status().total, factory.calls()), (0, 0, 4));
        pool.take(4);
    }

    async fn a_question_that_panics_costs_its_worker_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        drop(pool.take(2));
        factory.on(Callback::IsWork, |_| panic!("a bad question"));
        assert_eq!(panic_of(|| _ = pool.try_get()).as_deref(), Some("a bad question"));
        factory.no_longer_on(Callback::IsWork);
        assert_eq!((factory.live(), pool.status().total), (1, 1));
        assert_eq!(expect_one(&pool).id(), 0);
    }

    async fn what_has_expired_is_not_handed_out<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
        drop(pool.get().expect_worker());
        advance(secs(9)).await;
        drop(expect_one(&pool));
        advance(secs(10)).await;
        expect_none(&pool);
        assert_eq!((pool.cleanup() + factory.destroyed(), factory.live()), (2, 0));
    }

    async fn what_is_too_old_is_destroyed<P: TestPool>() on General, Keyed, Classified, Any {
        let setup = Setup::max(1).with(|options| options.with_max_lifetime(Some(secs(10))));
        let (pool, factory) = setup.open::<P>();
        drop(pool.get().expect_worker());
        advance(secs(10)).await;
        expect_none(&pool);
        assert_eq!((factory.destroyed(), pool.status().total), (1, 0));
    }

    async fn it_counts_as_a_use<P: TestPool>() on General, Keyed, Classified, Any {
        let setup = Setup::max(1).with(|options| options.with_max_use_count(Some(2)));
        let (pool, factory) = setup.open::<P>();
        drop(pool.get().expect_worker());
        let guard = expect_one(&pool);
        assert_eq!(P::info(&guard).unwrap().use_count, 2);
        drop(guard);
        assert_eq!(factory.destroyed(), 1);
    }

    async fn what_would_have_to_be_recycled_is_left_where_it_is<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).with(recycling_after(0)).open::<P>();
        drop(pool.get().expect_worker());
        expect_none(&pool);
        assert_eq!(pool.status().idle, 1);

        let (pool, _factory) = Setup::max(1).with(recycling_after(10)).open::<P>();
        drop(pool.get().expect_worker());
        advance(secs(10) - Duration::from_nanos(1)).await;
        drop(expect_one(&pool));
        advance(secs(10)).await;
        expect_none(&pool);
        assert_eq!((pool.status().idle, factory.destroyed()), (1, 0));
        drop(pool.get().expect_worker());
        assert_eq!(expect_one(&pool).id(), 0);
    }

    async fn a_pool_that_serves_nobody_says_so<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        expect_refused(&pool, PoolErrorCode::Clearing);
        let mut close = pool.close();
        close.expect_pending();
        expect_refused(&pool, Closed);
        drop(holder);
        close.expect_ready();
        expect_refused(&pool, Closed);

        let (pool, _factory) = Setup::max(0).open::<P>();
        expect_refused(&pool, InvalidConfig);
        pool.close().expect_ready();
        expect_refused(&pool, InvalidConfig);
        assert_eq!(factory.calls(), 1);
    }
}

#[test]
fn only_the_workers_of_the_key_are_taken() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        drop(pool.get_of(2).expect_worker());
        factory.worker(0).also_serve(ONE);
        expect_none(&pool);
        assert!(pool.0.try_get_worker(2).unwrap().is_some());
        assert_eq!(pool.0.status_of(ONE).total, 0);
    });
}

#[test]
fn a_worker_of_another_class_is_taken_if_it_serves_and_never_evicted() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        drop(pool.get_of(2).expect_worker());
        expect_none(&pool);
        assert!(!factory.worker(0).is_destroyed.load(SeqCst));
        factory.worker(0).also_serve(ONE);
        assert_eq!(expect_one(&pool).id(), 0);
        assert!(pool.0.try_get_worker().unwrap().is_some());
    });
}

#[test]
fn one_of_another_class_is_taken_where_those_of_its_own_need_recycling() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).with(recycling_after(10)).open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        advance(secs(5)).await;
        drop(pool.get_of(2).expect_worker());
        factory.worker(1).also_serve(1);
        advance(secs(5)).await;
        let guard = expect_one(&pool);
        assert_eq!(guard.id(), 1);
        expect_none(&pool);
    });
}
