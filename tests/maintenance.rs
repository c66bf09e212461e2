//! A task of the pool's own does what has to be done without traffic.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use sfo_pool::PoolErrorCode::InvalidConfig;
use tokio::runtime::{Builder, Handle};
use tokio::time::sleep;

use common::*;

/// A pool with a task of its own.
fn maintained(setup: Setup) -> Setup {
    setup.with(|options| options.with_maintenance(true))
}

/// Keeps so many workers idle.
fn reserve(max: u16, count: u16) -> Setup {
    maintained(Setup::max(max)).with(|options| options.with_min_idle_count(count))
}

/// Ends workers by `destroy`, within so many seconds.
fn buried(max: u16, seconds: u64) -> Setup {
    maintained(Setup::max(max)).with(|options| options.with_destroy_timeout(Some(secs(seconds))))
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

laws! {
    async fn what_expires_goes_without_traffic<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = maintained(Setup::max(2).idle_timeout(10)).open::<P>();
        drop(pool.take(2));
        sleep(secs(9)).await;
        assert_eq!(factory.destroyed(), 0);
        sleep(secs(1)).await;
        let_tasks_run().await;
        assert_eq!((factory.destroyed(), pool.status().total), (2, 0));
    }

    async fn what_is_too_old_goes_without_traffic<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = maintained(Setup::max(2)).with(|options| {
            options.with_max_lifetime(Some(secs(10))).with_max_lifetime_jitter(secs(0))
        });
        let (pool, factory) = setup.open::<P>();
        let mut held = pool.take(2);
        held.pop();
        sleep(secs(10)).await;
        let_tasks_run().await;
        assert_eq!(factory.destroyed(), 1, "the idle one");
        drop(held);
        assert_eq!(factory.destroyed(), 2, "the borrowed one as it comes back");
    }

    /// In a runtime without time a timer panics, which ends the task that makes it.
    async fn a_pool_at_rest_has_no_timer<P: TestPool>() on General, Keyed, Classified, Any {
        let rest = async {
            let (pool, _factory) = maintained(Setup::max(2).idle_timeout(10)).open::<P>();
            let held = pool.take(2);
            let_tasks_run().await;
            assert_eq!(tasks(), 1);
            pool.invalidate();
            drop(wait(1, || pool.get()));
            let_tasks_run().await;
            assert_eq!(tasks(), 1, "nothing will be due");
            drop(held);
            let_tasks_run().await;
            assert_eq!(tasks(), 1, "nothing is idle");
            drop(pool.take(1));
            let_tasks_run().await;
            assert_eq!(tasks(), 0, "a timer has been seen");
        };
        let alone = || Builder::new_current_thread().build().expect("a runtime").block_on(rest);
        thread::spawn(alone).join().expect("no timer but the last");
    }

    async fn without_the_option_nothing_goes_and_nothing_is_spawned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        drop(pool.take(2));
        assert_eq!(tasks(), 0);
        sleep(secs(100)).await;
        assert_eq!(factory.destroyed(), 0);
    }

    /// SD-7
    async fn the_task_holds_the_pool_weakly_and_ends_with_it<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = maintained(Setup::max(2).idle_timeout(10)).open::<P>();
        let is_gone = pool.probe();
        let mut held = pool.take(2);
        held.pop();
        let_tasks_run().await;
        assert_eq!(tasks(), 1);
        drop(pool);
        assert!(is_gone());
        let_tasks_run().await;
        assert_eq!(tasks(), 0);
        drop(held);
        assert_eq!(factory.live(), 0);
    }

    async fn a_pool_that_was_built_outside_a_runtime_has_its_task_as_well<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let build = || maintained(Setup::max(2).idle_timeout(10)).open::<P>();
        let (pool, factory) = thread::spawn(build).join().expect("a pool");
        assert_eq!(tasks(), 0);
        drop(pool.get().expect_worker());
        // The clock outside is not paused, and may be a little ahead.
        sleep(secs(11)).await;
        let_tasks_run().await;
        assert_eq!((tasks(), factory.destroyed()), (1, 1));
    }

    async fn the_task_survives_a_panic_of_a_destructor<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = maintained(Setup::max(2).idle_timeout(10)).open::<P>();
        factory.on(Callback::Drop, |id| {
            if id == 0 {
                std::panic::resume_unwind(Box::new("destructor"));
            }
        });
        for gone in [1, 2] {
            drop(pool.get().expect_worker());
            sleep(secs(10)).await;
            let_tasks_run().await;
            assert_eq!((factory.destroyed(), pool.status().total), (gone, 0));
        }
    }

    async fn a_reserve_is_kept_as_far_as_there_is_room<P: TestPool>() on General, Any {
        let (pool, factory) = reserve(3, 2).open::<P>();
        let_tasks_run().await;
        assert_eq!((pool.status().idle, factory.created()), (2, 2), "before anybody asks");
        let first = pool.get().expect_worker();
        let_tasks_run().await;
        assert_eq!((pool.status().idle, pool.status().total), (2, 3));
        let second = pool.get().expect_worker();
        let_tasks_run().await;
        assert_eq!((pool.status().idle, pool.status().total), (1, 3), "never above the limit");
        drop((first, second));
        let_tasks_run().await;
        assert_eq!(factory.created(), 3);
    }

    async fn a_reserve_is_filled_up_after_a_clear<P: TestPool>() on General, Any {
        let (pool, factory) = reserve(3, 2).open::<P>();
        let_tasks_run().await;
        pool.clear().expect_ready();
        let_tasks_run().await;
        assert_eq!((pool.status().idle, factory.destroyed()), (2, 2));
        pool.close().expect_ready();
        let_tasks_run().await;
        assert_eq!(factory.live(), 0, "but not after the end");
    }

    async fn a_backend_that_fails_is_not_hammered<P: TestPool>() on General, Any {
        let (pool, factory) = reserve(3, 2).open::<P>();
        factory.always(Some(Outcome::Error("down")));
        sleep(secs(60)).await;
        assert!((2..=12).contains(&factory.calls()), "{} calls in a minute", factory.calls());
        factory.always(Some(Outcome::Panic("create")));
        sleep(secs(120)).await;
        factory.always(None);
        sleep(secs(120)).await;
        let_tasks_run().await;
        assert_eq!(pool.status().idle, 2, "it goes on when the backend is back");
    }

    async fn a_creation_for_the_reserve_passes_nobody<P: TestPool>() on General, Any {
        let (pool, factory) = reserve(1, 1).open::<P>();
        factory.gate();
        let_tasks_run().await;
        let mut waiter = pool.get();
        waiter.expect_pending();
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        drop(waiter.expect_worker());
        assert_eq!(factory.calls(), 1);
    }

    async fn a_worker_keeps_its_slot_until_its_asynchronous_end<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = buried(1, 10).open::<P>();
        factory.burying().gate();
        let held = pool.get().expect_worker();
        let mut waiter = wait(1, || pool.get()).remove(0);
        factory.worker(0).kill();
        // On a thread without a runtime: the drop of a guard spawns nothing.
        thread::spawn(move || drop(held)).join().expect("no panic");
        let_tasks_run().await;
        assert_eq!(factory.burying().waiting(), 1);
        waiter.expect_pending();
        factory.burying().end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!(factory.destroyed(), 1);
        drop(waiter.expect_worker());
    }

    /// OW-4
    async fn an_asynchronous_end_has_a_bound<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = buried(1, 10).open::<P>();
        factory.burying().gate();
        P::discard(pool.get().expect_worker());
        let mut waiter = wait(1, || pool.get()).remove(0);
        sleep(secs(9)).await;
        waiter.expect_pending();
        sleep(secs(1)).await;
        let_tasks_run().await;
        assert_eq!((factory.destroyed(), factory.burying().waiting()), (1, 0));
        drop(waiter.expect_worker());
    }

    async fn asynchronous_ends_go_on_side_by_side<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = buried(3, 10).open::<P>();
        factory.burying().gate();
        drop(pool.take(3));
        let mut clear = pool.clear();
        clear.expect_pending();
        let_tasks_run().await;
        assert_eq!(factory.burying().waiting(), 3);
        for _ in 0..3 {
            clear.expect_pending();
            factory.burying().end(Outcome::Worker);
            let_tasks_run().await;
        }
        clear.expect_ready();
    }

    async fn dead_workers_that_a_request_meets_end_asynchronously_as_well<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = buried(1, 10).open::<P>();
        factory.burying().gate();
        drop(pool.get().expect_worker());
        factory.worker(0).kill();
        let mut request = pool.get();
        request.expect_pending();
        let_tasks_run().await;
        factory.burying().end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!(request.expect_worker().id(), 1);
    }

    async fn without_maintenance_a_worker_is_dropped<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| options.with_destroy_timeout(Some(secs(10))));
        let (pool, factory) = setup.open::<P>();
        P::discard(pool.get().expect_worker());
        assert_eq!((factory.destroyed(), factory.burying().calls()), (1, 0));
    }

    async fn ends_that_have_begun_are_finished_when_the_pool_goes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = buried(2, 10).open::<P>();
        factory.burying().gate();
        P::discard(pool.get().expect_worker());
        let_tasks_run().await;
        drop(pool);
        let_tasks_run().await;
        assert_eq!(factory.burying().waiting(), 1);
        factory.burying().end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!((factory.live(), tasks()), (0, 0));
    }
}

#[test]
fn a_reserve_makes_no_sense_without_maintenance_or_with_keys() {
    watched(|| async {
        let options = |setup: Setup| setup.with(|options| options.with_min_idle_count(1));
        let (pool, _factory) = options(Setup::max(1)).open::<General>();
        pool.get().expect_code(InvalidConfig);
        let (pool, _factory) = options(maintained(Setup::max(1))).open::<Keyed>();
        pool.get().expect_code(InvalidConfig);
    });
}

#[test]
fn a_reserve_that_could_not_stay_idle_is_not_created() {
    watched(|| async {
        let (pool, factory) = reserve(3, 2).max_idle(1).open::<General>();
        sleep(secs(60)).await;
        assert_eq!((pool.status().idle, factory.calls()), (1, 1));

        let (pool, factory) = reserve(3, 2).idle_timeout(0).open::<General>();
        pool.get().expect_code(InvalidConfig);
        sleep(secs(60)).await;
        assert_eq!(factory.calls(), 0);
    });
}

#[test]
fn the_task_ends_with_the_pool_even_if_a_creation_hangs() {
    watched(|| async {
        let (pool, factory) = reserve(1, 1).open::<General>();
        factory.gate();
        let_tasks_run().await;
        assert_eq!(factory.waiting(), 1);
        drop(pool);
        let_tasks_run().await;
        assert_eq!((factory.waiting(), tasks()), (0, 0));
    });
}

#[test]
fn what_is_idle_goes_with_the_pool_at_once() {
    watched(|| async {
        let (pool, factory) = buried(2, 10).open::<General>();
        drop(pool.take(2));
        let_tasks_run().await;
        drop(pool);
        assert_eq!((factory.destroyed(), factory.burying().calls()), (2, 0));
    });
}

/// The task of a runtime that has ended is replaced.
#[test]
fn a_pool_outlives_the_runtime_of_its_task() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().expect("a runtime")
    };
    let (General(pool), factory) = maintained(Setup::max(1).idle_timeout(10)).open::<General>();
    runtime().block_on(async {
        drop(pool.get_worker().await.expect("a worker"));
        let_tasks_run().await;
    });
    assert_eq!(factory.destroyed(), 0);
    runtime().block_on(async {
        sleep(secs(20)).await;
        drop(pool.get_worker().await.expect("a new one"));
        sleep(secs(20)).await;
        let_tasks_run().await;
    });
    assert_eq!((factory.destroyed(), factory.created()), (2, 2));
}

#[test]
fn a_destroy_that_panics_harms_nobody_but_its_worker() {
    watched(|| async {
        let (pool, factory) = buried(1, 10).open::<General>();
        factory.burying().next(Outcome::Panic("destroy"));
        for destroyed in [1, 2] {
            General::discard(pool.get().expect_worker());
            let_tasks_run().await;
            assert_eq!((factory.destroyed(), pool.status().total), (destroyed, 0));
        }
    });
}

/// Workers that are destroyed by a task are still destroyed once, and each on its own.
#[test]
fn every_worker_ends_by_destroy() {
    watched(|| async {
        let (pool, factory) = buried(4, 10).open::<General>();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let calls = Arc::new(AtomicUsize::new(0));
        let (list, count) = (Arc::clone(&ended), Arc::clone(&calls));
        factory.on(Callback::Destroy, move |id| {
            list.lock().unwrap().push(id);
            count.fetch_add(1, SeqCst);
        });
        drop(pool.take(4));
        pool.invalidate();
        let_tasks_run().await;
        ended.lock().unwrap().sort_unstable();
        assert_eq!((ended.lock().unwrap().clone(), calls.load(SeqCst)), (vec![0, 1, 2, 3], 4));
    });
}
