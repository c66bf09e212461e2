//! A creation belongs to the request that has the slot for it; however it ends, the slot stays.

mod common;

use std::error::Error;
use std::io;
use std::time::Duration;

use sfo_pool::{PoolError, PoolErrorCode, PoolOptions, into_pool_err};
use tokio::time::advance;

use common::*;

fn refused() -> PoolError {
    let refusal = io::Error::from(io::ErrorKind::ConnectionRefused);
    into_pool_err!(PoolErrorCode::Clearing, "port {}", 4222)(refusal)
}

laws! {
    /// CR-1
    async fn a_failed_creation_passes_its_slot_to_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let [mut a, mut b, mut c] = wait(3, || pool.get()).try_into().ok().unwrap();
        assert_eq!(factory.calls(), 1);

        factory.end(Outcome::Error("first"));
        assert_eq!(a.expect_error().msg(), "first");
        assert!(b.is_woken() && !c.is_woken());

        b.expect_pending();
        factory.end(Outcome::Error("second"));
        assert_eq!(b.expect_error().msg(), "second");

        c.expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(c.expect_worker().id(), 0);
        assert_eq!(factory.calls(), 3);
    }

    /// CR-2
    async fn a_failure_reaches_its_caller_at_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.always(Some(Outcome::Error("down")));
        assert_eq!(pool.get().expect_error().msg(), "down");
        assert_eq!(factory.calls(), 1);

        factory.always(None);
        pool.take(1);
    }

    /// CR-2
    async fn the_error_of_the_factory_arrives_unchanged<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.next(Outcome::Fails(refused));

        let error = pool.get().expect_error();
        assert_eq!((error.code(), error.msg()), (PoolErrorCode::Clearing, "port 4222"));
        let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
        assert_eq!(source.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// CR-3
    async fn a_fresh_worker_is_not_asked<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        for id in 0..3 {
            factory.on(Callback::IsWork, |id| panic!("worker {id} has only just been created"));
            let guard = pool.get().expect_worker();
            assert_eq!(guard.id(), id);
            factory.no_longer_on(Callback::IsWork);
            guard.state.kill();
        }
        assert_eq!((factory.calls(), factory.live()), (3, 0));
    }

    /// CR-5
    async fn one_request_is_one_creation_at_most<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(5).idle_timeout(60).open::<P>();
        factory.always(Some(Outcome::Error("down")));
        for _ in 0..20 {
            pool.get().expect_error();
        }
        for _ in 0..60 {
            advance(Duration::from_secs(60)).await;
            pool.cleanup();
        }
        assert_eq!(factory.calls(), 20);
    }

    /// CX-4
    async fn a_creation_runs_in_the_task_of_its_request<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiter = wait(1, || pool.get()).remove(0);

        holder.state.kill();
        drop(holder);
        tokio::task::yield_now().await;
        assert_eq!(factory.calls(), 1, "nobody else creates for it");
        assert_eq!(waiter.expect_worker().id(), 1);
    }

    /// CX-4
    async fn a_request_dropped_at_any_point_leaves_its_slot_to_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for point in ["queued", "may create", "creating", "created"] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let [mut a, mut b] = wait(2, || pool.get()).try_into().ok().unwrap();
            factory.gate();
            holder.state.kill();
            let mut holder = Some(holder);
            if point != "queued" {
                drop(holder.take());
            }
            if ["creating", "created"].contains(&point) {
                a.expect_pending();
            }
            if point == "created" {
                factory.end(Outcome::Worker);
            }

            drop(a);
            drop(holder);
            assert!(b.is_woken(), "after a drop while {point}");
            b.expect_pending();
            factory.end(Outcome::Worker);
            assert_eq!(b.expect_worker().id(), 1);
            assert_eq!((factory.live(), factory.peak()), (1, 1));
        }
    }

    /// CX-4
    async fn a_request_dropped_at_any_point_leaves_a_free_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = wait(1, || pool.get());
        holder.state.kill();
        drop(holder);
        drop(waiter);

        factory.gate();
        drop(wait(1, || pool.get()));
        let creating = wait(1, || pool.get());
        factory.end(Outcome::Worker);
        drop(creating);

        factory.open_gate();
        assert_eq!(pool.get().expect_worker().id(), 1);
        assert_eq!(factory.peak(), 1);
    }

    /// CX-6: a creation ends with its request.
    async fn a_cancelled_creation_is_over_before_the_next_begins<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        drop(wait(1, || pool.get()));
        assert_eq!(factory.waiting(), 0);

        let mut b = wait(1, || pool.get()).remove(0);
        assert_eq!((factory.calls(), factory.waiting()), (2, 1));
        factory.end(Outcome::Worker);
        assert_eq!(b.expect_worker().id(), 0);
        assert_eq!((factory.created(), factory.destroyed()), (1, 0));
    }

    /// CX-7
    async fn one_timeout_covers_waiting_and_creating<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        factory.gate();
        let [mut b, mut c] = [10, 20].map(|seconds| pool.get().within(seconds));
        b.expect_pending();
        c.expect_pending();

        advance(Duration::from_secs(9)).await;
        holder.state.kill();
        drop(holder);
        b.expect_pending();
        assert_eq!(factory.waiting(), 1);

        advance(Duration::from_secs(1)).await;
        assert!(b.expect_ready().is_err());
        drop(b);
        c.expect_pending();
        assert_eq!(factory.waiting(), 1);

        advance(Duration::from_secs(3)).await;
        factory.end(Outcome::Worker);
        assert_eq!(c.expect_ready().unwrap().unwrap().id(), 1);
        assert_eq!((factory.calls(), factory.created(), factory.destroyed()), (3, 2, 1));
    }

    /// §6: the limit on creations at a time
    async fn at_most_so_many_creations_run_at_a_time<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(5).max_creations(2).open::<P>();
        factory.gate();
        let mut calls = wait(4, || pool.get());
        assert_eq!((factory.calls(), factory.waiting()), (2, 2));

        factory.end(Outcome::Worker);
        let _guard = calls[0].expect_worker();
        assert!(calls[2].is_woken() && !calls[3].is_woken(), "the older one is next");
        calls[2].expect_pending();
        assert_eq!((factory.calls(), factory.waiting()), (3, 2));
    }

    /// §6: the limit on creations at a time
    async fn every_end_of_a_creation_lets_the_next_begin<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::default().max_creations(1).open::<P>();
        factory.gate();
        let mut calls = wait(6, || pool.get());
        calls.reverse();
        let expect_begin = |calls: &mut [Get<P>], creations: usize| {
            let next = calls.last_mut().unwrap();
            assert!(next.is_woken());
            next.expect_pending();
            assert_eq!((factory.calls(), factory.waiting()), (creations, 1));
        };

        factory.end(Outcome::Worker);
        let _guard = calls.pop().unwrap().expect_worker();
        expect_begin(&mut calls, 2);

        factory.end(Outcome::Error("down"));
        calls.pop().unwrap().expect_error();
        expect_begin(&mut calls, 3);

        factory.end(Outcome::Panic("down"));
        let mut call = calls.pop().unwrap();
        assert!(panic_of(|| drop(call.poll())).is_some());
        expect_begin(&mut calls, 4);

        drop(calls.pop());
        assert!(calls.last().unwrap().is_woken());
        drop(calls.pop());
        expect_begin(&mut calls, 5);
    }

    /// §6: the limit on creations at a time
    async fn whom_the_creation_limit_stops_holds_no_slot_and_is_served_by_a_return<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).max_creations(1).open::<P>();
        let holder = pool.get().expect_worker();
        factory.gate();
        let [mut creating, mut stopped] = wait(2, || pool.get()).try_into().ok().unwrap();
        drop(holder);
        let first = stopped.expect_worker();
        assert_eq!((first.id(), factory.calls()), (0, 2));

        factory.end(Outcome::Worker);
        let _second = creating.expect_worker();
        let mut third = wait(1, || pool.get()).remove(0);
        factory.end(Outcome::Worker);
        let _third = third.expect_worker();
        let _beyond = wait(1, || pool.get());
        assert_eq!((factory.calls(), factory.live()), (3, 3));
    }

    /// §6: the limit on creations at a time
    async fn without_an_option_creations_are_not_limited<P: TestPool>() on General, Keyed {
        let (pool, factory) = Setup::default().open::<P>();
        factory.gate();
        let _calls = wait(100, || pool.get());
        assert_eq!(factory.waiting(), 100);
    }

    /// §6: the limit on creations at a time
    async fn a_creation_limit_of_none_is_none<P: TestPool>() on General, Keyed, Classified, Any {
        let options = PoolOptions::default().with_max_concurrent_creation_count(None);
        let (pool, factory) = Setup { options, ..Setup::default() }.open::<P>();
        factory.gate();
        let _calls = wait(100, || pool.get());
        assert_eq!(factory.waiting(), 100);
    }
}

/// CX-4
#[test]
fn a_request_does_nothing_before_its_first_poll() {
    macro_rules! leave_unpolled {
        ($pool:ty, $request:ident($($of:expr)?)) => {
            let (pool, factory) = Setup::max(1).open::<$pool>();
            let unpolled = pool.0.$request($($of)?);
            pool.take(1);
            drop(unpolled);
            assert_eq!((factory.calls(), factory.live()), (1, 1));
        };
    }
    watched(|| async {
        leave_unpolled!(General, get_worker());
        leave_unpolled!(Keyed, get_worker(ONE));
        leave_unpolled!(Classified, get_classified_worker(ONE));
        leave_unpolled!(Any, get_worker());
    });
}

/// D14
#[test]
fn without_an_option_20_creations_run_in_a_classified_pool() {
    watched(|| async {
        let (pool, factory) = Setup::default().open::<Classified>();
        factory.gate();
        let generic = (0..15).map(|_| pool.get_any());
        let classified = (0..15).map(|class| pool.get_of(class));
        let mut calls: Vec<_> = generic.chain(classified).collect();
        calls.iter_mut().for_each(Call::expect_pending);
        assert_eq!((factory.calls(), factory.waiting()), (20, 20));
    });
}

/// §6: the limit on creations at a time
#[test]
fn each_key_has_a_creation_limit_of_its_own() {
    watched(|| async {
        let (pool, factory) = Setup::default().max_creations(1).open::<Keyed>();
        factory.gate();
        let mut calls = [1, 1, 2, 2].map(|key| pool.get_of(key));
        calls.iter_mut().for_each(Call::expect_pending);
        assert_eq!(factory.waiting(), 2);

        factory.end(Outcome::Worker);
        let _guard = calls[0].expect_worker();
        assert!(calls[1].is_woken() && !calls[3].is_woken());
    });
}

/// §6: the limit on creations at a time
#[test]
fn whom_the_creation_limit_stops_takes_no_victim() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_creations(1).open::<Classified>();
        drop(pool.get_of(1).expect_worker());
        factory.gate();
        let mut creating = pool.get_of(2);
        creating.expect_pending();
        let mut stopped = pool.get_of(3);
        stopped.expect_pending();
        assert_eq!((factory.calls(), factory.destroyed()), (2, 0));

        factory.end(Outcome::Worker);
        let _guard = creating.expect_worker();
        assert_eq!(factory.destroyed(), 1, "now it can create in the slot of the victim");
        stopped.expect_pending();
        assert_eq!((factory.calls(), factory.live()), (3, 1));
    });
}
