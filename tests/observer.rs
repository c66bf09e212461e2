//! An observer is told of everything, once and in order, and harms nobody.

mod common;

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

use sfo_pool::PoolErrorCode::{Clearing, Closed, Failed, Full, Timeout};
use sfo_pool::{PoolDestroyReason as Reason, PoolRetry, PoolStep};
use tokio::time::{advance, sleep};

use common::Event::*;
use common::*;

fn spied<P: TestPool>(setup: Setup) -> (P, Factory, Arc<Spy>) {
    let (setup, spy) = Spy::on(setup);
    let (pool, factory) = setup.open::<P>();
    (pool, factory, spy)
}

fn recycled(max: u16) -> Setup {
    Setup::max(max).with(|options| options.with_recycle_after(Some(secs(0))))
}

const IDLE: Event = Acquired(PoolStep::Idle);
const CREATING: Event = Acquired(PoolStep::Creating);

laws! {
    async fn a_worker_is_created_acquired_returned_and_destroyed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(1));
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        assert_eq!(spy.events(), []);
        advance(secs(2)).await;
        factory.end(Outcome::Worker);
        let holder = call.expect_worker();
        let told = spy.told();
        assert_eq!(told.iter().map(|it| it.event).collect::<Vec<_>>(), [Created, CREATING]);
        assert_eq!((told[0].time, told[1].time), (Some(secs(2)), Some(secs(2))));
        let worker = told[0].worker;
        assert!(worker.is_some() && told[1].worker == worker);

        advance(secs(3)).await;
        drop(holder);
        let told = spy.told();
        assert_eq!((told.len(), told[0].event, told[0].time), (1, Returned, Some(secs(3))));
        assert_eq!(told[0].worker, worker);
        factory.worker(0).kill();
        factory.open_gate();
        drop(pool.get().expect_worker());
        assert_eq!(spy.events(), [Destroyed(Reason::Unhealthy), Created, CREATING, Returned]);
        drop(pool.get().expect_worker());
        assert_eq!(spy.events(), [IDLE, Returned]);
        drop(pool.try_get().unwrap());
        assert_eq!(spy.events(), [IDLE, Returned]);
    }

    async fn each_way_to_give_a_worker_back_is_a_return<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(1));
        P::discard(pool.get().expect_worker());
        assert_eq!(spy.events(), [Created, CREATING, Returned, Destroyed(Reason::Discarded)]);
        let own = P::detach(pool.get().expect_worker());
        assert_eq!(spy.events(), [Created, CREATING, Returned, Destroyed(Reason::Detached)]);
        drop(own);
        assert_eq!(spy.events(), []);
        let holder = pool.get().expect_worker();
        factory.worker(2).kill();
        drop(holder);
        assert_eq!(spy.events(), [Created, CREATING, Returned, Destroyed(Reason::Unhealthy)]);
        let holder = pool.get().expect_worker();
        panic_of(move || {
            let _holder = holder;
            resume_unwind(Box::new("task"));
        });
        assert_eq!(spy.events(), [Created, CREATING, Returned, Destroyed(Reason::Panicked)]);
        // Nobody had it but the pool.
        assert_eq!(pool.prewarm(1).expect_ready().unwrap(), 1);
        pool.retain(|_| false);
        assert_eq!(spy.events(), [Created, Destroyed(Reason::Discarded)]);
    }

    async fn a_worker_is_destroyed_when_its_destructor_has_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(1));
        let holder = pool.get().expect_worker();
        spy.events();
        let (told, list) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&spy));
        let seen = Arc::clone(&told);
        factory.on(Callback::Drop, move |_| seen.lock().unwrap().extend(list.events()));
        P::discard(holder);
        assert_eq!(*told.lock().unwrap(), [Returned]);
        assert_eq!(spy.events(), [Destroyed(Reason::Discarded)]);
        factory.no_longer_on(Callback::Drop);
    }

    async fn who_waits_is_told_of_and_how_long_it_did<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = spied::<P>(Setup::max(1));
        let holder = pool.get().expect_worker();
        spy.events();
        let mut served = wait(1, || pool.get()).remove(0);
        let cancelled = wait(1, || pool.get());
        let mut timed = wait(1, || pool.get_timeout(secs(5))).remove(0);
        assert_eq!(spy.events(), [Waiting; 3]);
        served.expect_pending();
        assert_eq!(spy.events(), [], "it still does");

        advance(secs(2)).await;
        drop(cancelled);
        let told = spy.told();
        assert_eq!((told.len(), told[0].event, told[0].time), (1, Waited, Some(secs(2))));
        advance(secs(3)).await;
        timed.expect_code(Timeout);
        let told = spy.told();
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].event, told[0].time), (Waited, Some(secs(5))));
        assert_eq!((told[1].event, told[1].time), (TimedOut(PoolStep::Waiting), Some(secs(5))));
        advance(secs(1)).await;
        drop(holder);
        drop(served.expect_worker());
        let told = spy.told();
        let events: Vec<_> = told.iter().map(|it| it.event).collect();
        assert_eq!(events, [Returned, Waited, Acquired(PoolStep::Waiting), Returned]);
        assert_eq!((told[1].time, told[2].time), (Some(secs(6)), Some(secs(6))));
    }

    async fn who_may_create_at_once_does_not_wait<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory, spy) = spied::<P>(Setup::max(1));
        factory.gate();
        drop(wait(1, || pool.get()));
        assert_eq!(spy.events(), []);
    }

    async fn the_step_says_how_it_was_served<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory, spy) = spied::<P>(recycled(1));
        let holder = pool.get().expect_worker();
        let mut call = wait(1, || pool.get()).remove(0);
        drop(holder);
        drop(call.expect_worker());
        let recycling = Acquired(PoolStep::Recycling);
        assert_eq!(spy.events(), [Created, CREATING, Waiting, Returned, Waited, recycling, Returned]);
        factory.recycling().next(Outcome::Error("stale"));
        drop(pool.get().expect_worker());
        assert_eq!(spy.events(), [Destroyed(Reason::Unhealthy), Created, CREATING, Returned]);
    }

    async fn a_time_that_is_up_is_told_with_its_step<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(recycled(1).acquire_timeout(5));
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        advance(secs(5)).await;
        call.expect_code(Timeout);
        assert_eq!(spy.events(), [TimedOut(PoolStep::Creating)]);
        factory.open_gate();
        drop(pool.get().expect_worker());
        spy.events();
        factory.recycling().gate();
        let mut call = wait(1, || pool.get()).remove(0);
        advance(secs(5)).await;
        call.expect_code(Timeout);
        assert!(spy.events().contains(&TimedOut(PoolStep::Recycling)));

        let setup = Setup::max(1).acquire_timeout(5);
        let setup = setup.with(|options| options.with_detached_creation(true));
        let (pool, factory, spy) = spied::<P>(setup);
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        advance(secs(5)).await;
        call.expect_code(Timeout);
        assert_eq!(spy.events(), [Waiting, Waited, TimedOut(PoolStep::Creating)]);
    }

    async fn who_is_turned_away_is_told_of_with_the_code<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| options.with_max_waiting_count(Some(1)));
        let (pool, _factory, spy) = spied::<P>(setup);
        assert!(pool.try_get().unwrap().is_none());
        assert_eq!(spy.events(), [], "that is no refusal");
        let holder = pool.get().expect_worker();
        let mut waiter = wait(1, || pool.get()).remove(0);
        spy.events();
        pool.get().expect_code(Full);
        assert_eq!(spy.events(), [Refused(Full)]);
        let mut clear = pool.clear();
        clear.expect_pending();
        waiter.expect_error();
        assert_eq!(spy.events(), [Waited, Refused(sfo_pool::PoolErrorCode::Cleared)]);
        pool.get().expect_code(Clearing);
        assert!(pool.try_get().is_err());
        assert_eq!(spy.events(), [Refused(Clearing); 2]);
        drop(holder);
        clear.expect_ready();
        assert_eq!(spy.events(), [Returned, Destroyed(Reason::Cleared), Cleared]);
        pool.close().expect_ready();
        pool.get().expect_code(Closed);
        assert!(pool.try_get().is_err());
        assert_eq!(spy.events(), [Event::Closed, Refused(Closed), Refused(Closed)]);
    }

    async fn a_creation_that_fails_is_told_of_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_detached in [false, true] {
            let retry = PoolRetry::new(|_| true).with_max_retry_count(1).with_first_delay(secs(4));
            let (pool, factory, spy) = spied::<P>(Setup::max(1).with(|options| {
                options.with_creation_retry(Some(retry)).with_detached_creation(is_detached)
            }));
            factory.always(Some(Outcome::Error("down")));
            let mut call = wait(1, || pool.get()).remove(0);
            let_tasks_run().await;
            // The pause is a little longer at random.
            advance(secs(8)).await;
            let_tasks_run().await;
            call.expect_code(Failed);
            let told = spy.told();
            let is_failure = |told: &&Told| matches!(told.event, CreationFailed(_));
            let failures: Vec<_> = told.iter().filter(is_failure).collect();
            assert_eq!(failures.len(), 1);
            assert_eq!((failures[0].event, failures[0].worker), (CreationFailed(Failed), None));
            assert_eq!(failures[0].time, Some(secs(8)), "all attempts together");
        }
    }

    async fn what_a_clear_or_an_invalidation_meets_is_created_and_destroyed<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(1));
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        pool.invalidate();
        factory.end(Outcome::Worker);
        call.expect_pending();
        assert_eq!(spy.events(), [Created, Destroyed(Reason::Invalidated)]);
        let mut clear = pool.clear();
        clear.expect_pending();
        factory.end(Outcome::Worker);
        call.expect_error();
        clear.expect_ready();
        let refused = Refused(sfo_pool::PoolErrorCode::Cleared);
        assert_eq!(spy.events(), [Created, Destroyed(Reason::Cleared), refused, Cleared]);
    }

    async fn an_end_in_the_pools_own_task_is_told_of<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(1).with(|options| {
            options.with_maintenance(true).with_destroy_timeout(Some(secs(10)))
        }));
        factory.burying().gate();
        P::discard(pool.get().expect_worker());
        let_tasks_run().await;
        assert_eq!(spy.events(), [Created, CREATING, Returned]);
        factory.burying().end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!(spy.events(), [Destroyed(Reason::Discarded)]);
    }

    async fn the_end_is_told_of_once<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory, spy) = spied::<P>(Setup::max(1));
        let holder = pool.get().expect_worker();
        spy.events();
        let mut closes = wait(3, || pool.close());
        assert_eq!(spy.events(), [Event::Closed]);
        drop(holder);
        closes.iter_mut().for_each(Call::expect_ready);
        pool.close().expect_ready();
        assert_eq!(spy.events(), [Returned, Destroyed(Reason::Cleared)]);
        for _ in 0..200 {
            let (pool, _factory, spy) = spied::<P>(Setup::max(1));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| pool.close().expect_ready());
                }
            });
            assert_eq!(spy.events(), [Event::Closed]);
        }
    }

    /// No lock is held, and nothing is half-done.
    async fn an_observer_may_use_the_pool<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory, spy) = spied::<P>(threshold(Setup::max(3)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (within, list) = (pool.clone(), Arc::clone(&seen));
        spy.then(move |event| outermost(|| {
            list.lock().unwrap().push(event);
            let status = within.status();
            let statistics = within.statistics();
            assert_eq!(statistics.waiting, status.waiting as u64);
            drop(within.outstanding());
            drop(within.try_get());
            within.retain(|_| true);
            within.cleanup();
            let mut call = within.get();
            drop(call.poll());
        }));
        all_events(&pool, &factory).await;
        let seen = seen.lock().unwrap();
        let told = |is: fn(&Event) -> bool| assert!(seen.iter().any(is), "{seen:?}");
        told(|it| matches!(it, Created));
        told(|it| matches!(it, CreationFailed(_)));
        told(|it| matches!(it, Acquired(_)));
        told(|it| matches!(it, Returned));
        told(|it| matches!(it, Destroyed(_)));
        told(|it| matches!(it, Waiting));
        told(|it| matches!(it, Waited));
        told(|it| matches!(it, TimedOut(_)));
        told(|it| matches!(it, Refused(_)));
        told(|it| matches!(it, HeldTooLong));
        told(|it| matches!(it, CameBack));
        told(|it| matches!(it, Cleared));
        told(|it| matches!(it, Event::Closed));
        assert_eq!((factory.live(), pool.status().total), (0, 0));
    }

    async fn an_observer_that_panics_harms_nobody<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (setup, first) = Spy::on(threshold(Setup::max(3)));
        let (setup, second) = Spy::on(setup);
        let (pool, factory) = setup.open::<P>();
        first.then(|_| resume_unwind(Box::new("observer")));
        all_events(&pool, &factory).await;
        let events = second.events();
        assert_eq!(first.events(), events, "each is told");
        let count = |is: fn(&Event) -> bool| events.iter().filter(|it| is(it)).count();
        assert_eq!(count(|it| *it == Created), count(|it| matches!(it, Destroyed(_))));
        assert_eq!(count(|it| matches!(it, Acquired(_))), count(|it| *it == Returned));
        assert_eq!(count(|it| *it == Waiting), count(|it| *it == Waited));
        let statistics = pool.statistics();
        assert_eq!((factory.live(), statistics.total, statistics.in_progress), (0, 0, 0));
        assert_eq!(statistics.created, statistics.destroyed_in_all());
    }

    /// A worker was found, but the caller gets a panic.
    async fn who_gets_a_panic_has_not_acquired_a_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(2));
        drop(pool.take(2));
        spy.events();
        factory.worker(1).kill();
        factory.on(Callback::Drop, |_| resume_unwind(Box::new("destructor")));
        let mut call = pool.get();
        // It finds the other one first.
        assert_eq!(panic_of(|| drop(call.poll())).as_deref(), Some("destructor"));
        factory.no_longer_on(Callback::Drop);
        assert_eq!(spy.events(), [Destroyed(Reason::Unhealthy)]);
        assert_eq!((pool.status().idle, pool.statistics().failed), (1, 1));
    }
}

fn threshold(setup: Setup) -> Setup {
    setup.with(|options| options.with_maintenance(true).with_leak_threshold(Some(secs(10))))
}

/// Runs this unless it is running in this thread already.
fn outermost(act: impl FnOnce()) {
    thread_local! {
        static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_RUNNING.replace(true) {
        act();
        IS_RUNNING.set(false);
    }
}

/// Lets everything happen of which an observer can be told.
async fn all_events<P: TestPool>(pool: &P, factory: &Factory) {
    let leaking = pool.get().expect_worker();
    sleep(secs(10)).await;
    let_tasks_run().await;
    drop(leaking);
    let mut held = pool.take(3);
    let mut waiters = wait(2, || pool.get_timeout(secs(5)));
    advance(secs(5)).await;
    waiters.remove(0).expect_code(Timeout);
    drop(waiters);
    let mut waiter = wait(1, || pool.get()).remove(0);
    drop(held.pop());
    drop(waiter.poll());
    drop(waiter);
    P::discard(held.pop().unwrap());
    drop(P::detach(held.pop().unwrap()));
    factory.always(Some(Outcome::Error("down")));
    pool.invalidate();
    pool.get().expect_code(Failed);
    factory.always(None);
    let holder = pool.get().expect_worker();
    let mut clear = pool.clear();
    clear.expect_pending();
    pool.get().expect_code(Clearing);
    drop(holder);
    clear.expect_ready();
    drop(pool.get().expect_worker());
    pool.close().expect_ready();
    let_tasks_run().await;
}

#[test]
fn the_origin_names_the_pool_and_the_key() {
    watched(|| async {
        let named = |setup: Setup| setup.with(|options| options.with_name("hosts"));
        let (pool, factory, spy) = spied::<Keyed>(named(Setup::max(1)));
        factory.call_keys(|key| format!("host {key}"));
        let holder = pool.get_of(7).expect_worker();
        let waiter = wait(1, || pool.get_of(7));
        drop((waiter, holder));
        pool.invalidate();
        factory.next(Outcome::Error("down"));
        pool.get_of(7).expect_error();
        let told = spy.told();
        assert_eq!(told.len(), 7);
        for one in &told {
            assert_eq!(one.pool.as_deref(), Some("hosts"));
            assert_eq!(one.key.as_deref(), Some("host 7"), "{one:?}");
        }
        pool.close().expect_ready();
        pool.get_of(8).expect_error();
        assert!(pool.0.try_get_worker(9).is_err());
        let keys: Vec<_> = spy.told().into_iter().map(|one| (one.key, one.worker)).collect();
        assert_eq!(
            keys,
            [(None, None), (Some("host 8".into()), None), (Some("host 9".into()), None)]
        );

        let (pool, _factory, spy) = spied::<General>(Setup::max(1));
        drop(pool.get().expect_worker());
        assert!(spy.told().iter().all(|one| (&one.pool, &one.key) == (&None, &None)));
    });
}

/// Workers of all pools of a process have different numbers.
#[test]
fn no_two_workers_have_the_same_number() {
    watched(|| async {
        let (setup, spy) = Spy::on(Setup::max(3));
        let (general, _factory) = setup.clone().open::<General>();
        let (keyed, _factory) = setup.clone().open::<Keyed>();
        let (classified, _factory) = setup.open::<Classified>();
        let _held = (general.take(3), keyed.take(3), classified.take(3));
        let created = spy.told().into_iter().filter(|one| one.event == Created);
        let mut numbers: Vec<_> = created.map(|one| one.worker.expect("a worker")).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 9);
    });
}
