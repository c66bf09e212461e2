//! Who holds what, where they asked for it, and a warning when they hold it for too long.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::thread;

use sfo_pool::PoolErrorCode::InvalidConfig;
use sfo_pool::{PoolOutstanding, PoolResult};
use tokio::runtime::{Builder, Handle};
use tokio::time::{advance, sleep};

use common::*;

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

fn watched_by_nobody(setup: Setup) -> Setup {
    setup.with(|options| options.with_outstanding(true))
}

/// Warns after so many seconds.
fn threshold(setup: Setup, seconds: u64) -> Setup {
    setup.with(|options| options.with_maintenance(true).with_leak_threshold(Some(secs(seconds))))
}

/// A pool that warns, and who is warned.
fn warning<P: TestPool>(max: u16, seconds: u64) -> (P, Factory, Arc<Spy>) {
    let (setup, spy) = Spy::on(threshold(Setup::max(max), seconds));
    let (pool, factory) = setup.open::<P>();
    (pool, factory, spy)
}

/// The warnings, and what was told of them later, since the last look.
fn warnings(spy: &Spy) -> Vec<Told> {
    let told = spy.told().into_iter();
    told.filter(|told| matches!(told.event, Event::HeldTooLong | Event::CameBack)).collect()
}

fn events(warnings: &[Told]) -> Vec<Event> {
    warnings.iter().map(|told| told.event).collect()
}

async fn pass(seconds: u64) {
    sleep(secs(seconds)).await;
    let_tasks_run().await;
}

/// File and line.
fn place(one: &PoolOutstanding) -> (&'static str, u32) {
    (one.place.file(), one.place.line())
}

laws! {
    async fn those_who_hold_a_worker_are_listed_the_longest_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = watched_by_nobody(Setup::max(3)).open::<P>();
        assert_eq!(pool.outstanding(), []);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(pool.get().expect_worker());
            advance(secs(2)).await;
        }
        let times = || pool.outstanding().iter().map(|one| one.held.as_secs()).collect::<Vec<_>>();
        assert_eq!(times(), [6, 4, 2]);
        let oldest = pool.outstanding()[0].worker;
        drop(held.remove(0));
        assert_eq!(times(), [4, 2]);
        assert!(pool.outstanding().iter().all(|one| one.worker != oldest));
        held.push(pool.get().expect_worker());
        assert_eq!(times(), [4, 2, 0]);
        assert_eq!(pool.outstanding()[2].worker, oldest, "it is the same worker");
        P::discard(held.remove(0));
        drop(P::detach(held.remove(0)));
        assert_eq!(times(), [0]);
        held.extend(pool.take(2));
        let _waiters = wait(2, || pool.get());
        drop(held);
        assert_eq!(times(), [], "on their way to a request");
    }

    async fn what_the_holder_calls_itself_is_forgotten_on_return<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = watched_by_nobody(Setup::max(1)).open::<P>();
        let label = || pool.outstanding()[0].label.clone();
        let holder = pool.get().expect_worker();
        assert_eq!(label(), None);
        P::set_label(&holder, "report");
        P::set_label(&holder, "nightly report");
        assert_eq!(label().as_deref(), Some("nightly report"));
        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(holder);
        let holder = waiter.expect_worker();
        assert_eq!(label(), None);
        P::set_label(&holder, "other");
        drop(holder);
        let _holder = pool.get().expect_worker();
        assert_eq!(label(), None);
    }

    async fn nothing_is_kept_where_nobody_wants_to_know<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).with(|it| it.with_worker_info(true)).open::<P>();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        factory.call_keys(move |key| {
            count.fetch_add(1, SeqCst);
            key.to_string()
        });
        let holder = pool.get().expect_worker();
        P::set_label(&holder, "nobody");
        assert_eq!(pool.outstanding(), []);
        let _waiting = wait(1, || pool.get());
        drop(holder);
        pool.close().expect_ready();
        pool.get().expect_error();
        assert_eq!(calls.load(SeqCst), 0);
    }

    async fn a_worker_that_is_asked_or_recycled_is_held_by_nobody<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = watched_by_nobody(Setup::max(1));
        let (pool, factory) = setup.with(|it| it.with_recycle_after(Some(secs(0)))).open::<P>();
        drop(pool.get().expect_worker());
        factory.recycling().gate();
        let recycling = wait(1, || pool.get());
        assert_eq!(pool.outstanding(), []);
        drop(recycling);
        assert!(pool.prewarm(1).expect_ready().is_ok());
        pool.retain(|_| {
            assert_eq!(pool.outstanding(), []);
            true
        });
    }

    async fn one_who_holds_a_worker_for_too_long_is_warned_of_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = warning::<P>(2, 10);
        let holder = pool.get().expect_worker();
        let in_time = pool.get().expect_worker();
        pass(9).await;
        assert_eq!(warnings(&spy), []);
        drop(in_time);
        pass(1).await;
        let told = warnings(&spy);
        assert_eq!(events(&told), [Event::HeldTooLong]);
        assert_eq!((told[0].time, told[0].worker), (Some(secs(10)), Some(pool.outstanding()[0].worker)));
        let (file, line) = place(&pool.outstanding()[0]);
        assert_eq!(told[0].place, Some((file.to_owned(), line)));
        pass(100).await;
        assert_eq!(warnings(&spy), [], "once is enough");
        drop(holder);
        let told = warnings(&spy);
        assert_eq!((events(&told), told[0].time), (vec![Event::CameBack], Some(secs(110))));
        pass(100).await;
        assert_eq!(warnings(&spy), []);
    }

    async fn each_that_is_out_for_too_long_has_a_warning_of_its_own<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = warning::<P>(3, 10);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(pool.get().expect_worker());
            pass(4).await;
        }
        // 12, 8 and 4 seconds.
        assert_eq!(events(&warnings(&spy)), [Event::HeldTooLong]);
        P::discard(held.remove(0));
        assert_eq!(events(&warnings(&spy)), [Event::CameBack]);
        pass(2).await;
        assert_eq!(events(&warnings(&spy)), [Event::HeldTooLong]);
        drop(P::detach(held.remove(0)));
        assert_eq!(events(&warnings(&spy)), [Event::CameBack]);
        pass(4).await;
        assert_eq!(events(&warnings(&spy)), [Event::HeldTooLong]);
    }

    async fn a_quiet_time_and_an_earlier_leak_change_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = warning::<P>(2, 10);
        for _ in 0..3 {
            drop(pool.get().expect_worker());
            pass(1000).await;
            assert_eq!(warnings(&spy), []);
            let holder = pool.get().expect_worker();
            pass(10).await;
            assert_eq!(events(&warnings(&spy)), [Event::HeldTooLong]);
            drop(holder);
            assert_eq!(events(&warnings(&spy)), [Event::CameBack]);
        }
    }

    async fn a_warning_takes_nothing_from_whoever_holds_it<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = warning::<P>(1, 10);
        let holder = pool.get().expect_worker();
        pass(20).await;
        assert_eq!(events(&warnings(&spy)), [Event::HeldTooLong]);
        assert_eq!((pool.status().borrowed, factory.live(), holder.id()), (1, 1, 0));
        drop(holder);
        assert_eq!(pool.status().idle, 1);
    }

    async fn a_threshold_needs_somebody_who_looks_and_somebody_to_tell<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let only = |options: sfo_pool::PoolOptions| options.with_leak_threshold(Some(secs(10)));
        let (pool, _factory) = Setup::max(1).with(only).open::<P>();
        pool.get().expect_code(InvalidConfig);
        let (pool, _factory) = threshold(watched_by_nobody(Setup::max(1)), 10).open::<P>();
        pool.get().expect_code(InvalidConfig);
        let (setup, _spy) = Spy::on(Setup::max(1).with(only));
        let (pool, _factory) = setup.open::<P>();
        pool.get().expect_code(InvalidConfig);
    }

    /// In a runtime without time a timer panics, which ends the task that makes it.
    async fn where_nothing_is_held_there_is_no_timer<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let rest = async {
            let (pool, _factory, _spy) = warning::<P>(2, 10);
            pool.prewarm(1).expect_ready().unwrap();
            let_tasks_run().await;
            assert_eq!(tasks(), 1);
            pool.invalidate();
            let_tasks_run().await;
            assert_eq!(tasks(), 1, "nobody holds anything");
            let _holder = pool.get().expect_worker();
            let_tasks_run().await;
            assert_eq!(tasks(), 0, "a timer has been seen");
        };
        let alone = || Builder::new_current_thread().build().expect("a runtime").block_on(rest);
        thread::spawn(alone).join().expect("no timer but the last");
    }
}

/// Polls a call on another thread, to its end.
fn elsewhere<F: Future<Output: Send> + Send>(get: F) -> F::Output {
    let run =
        || Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(get);
    thread::scope(|scope| scope.spawn(run).join().expect("no panic"))
}

/// The one worker that is out was asked for in this line.
#[track_caller]
fn expect_place<P: TestPool>(pool: &P, line: u32) {
    let outstanding = pool.outstanding();
    let places: Vec<_> = outstanding.iter().map(place).collect();
    assert_eq!(places, [(file!(), line)]);
}

/// A call that was made in this line is served, after a wait or not, wherever it is polled.
#[track_caller]
fn names_the_place<P: TestPool>(
    pool: &P,
    waits: bool,
    (line, get): (u32, impl Future<Output = PoolResult<P::Guard>> + Send),
) {
    let mut get = Box::pin(get);
    if waits {
        let holder = pool.get().expect_worker();
        let mut context = Context::from_waker(Waker::noop());
        assert!(get.as_mut().poll(&mut context).is_pending());
        drop(holder);
    }
    let _guard = elsewhere(get).expect("a worker");
    expect_place(pool, line);
}

#[test]
fn every_call_is_listed_with_its_own_place() {
    watched(|| async {
        let limit = secs(10);
        // The first one creates, further ones are served at once or after a wait.
        for waits in [false, false, true] {
            let (pool, _factory) = watched_by_nobody(Setup::max(1)).open::<General>();
            names_the_place(&pool, waits, (line!(), pool.0.get_worker()));
            names_the_place(&pool, waits, (line!(), pool.0.get_worker_timeout(limit)));
            let (line, _guard) = (line!(), pool.0.try_get_worker().unwrap().unwrap());
            expect_place(&pool, line);

            let (pool, _factory) = watched_by_nobody(Setup::max(1)).open::<Keyed>();
            names_the_place(&pool, waits, (line!(), pool.0.get_worker(ONE)));
            names_the_place(&pool, waits, (line!(), pool.0.get_worker_timeout(ONE, limit)));
            let (line, _guard) = (line!(), pool.0.try_get_worker(ONE).unwrap().unwrap());
            expect_place(&pool, line);

            let (pool, _factory) = watched_by_nobody(Setup::max(1)).open::<Classified>();
            names_the_place(&pool, waits, (line!(), pool.0.get_worker()));
            names_the_place(&pool, waits, (line!(), pool.0.get_worker_timeout(limit)));
            let (line, guard) = (line!(), pool.0.try_get_worker().unwrap().unwrap());
            expect_place(&pool, line);
            drop(guard);
            // Of another class than the worker that there is.
            names_the_place(&pool, false, (line!(), pool.0.get_classified_worker(ONE)));
            names_the_place(&pool, waits, (line!(), pool.0.get_classified_worker(ONE)));
            let (line, get) = (line!(), pool.0.get_classified_worker_timeout(ONE, limit));
            names_the_place(&pool, waits, (line, get));
            let (line, tried) = (line!(), pool.0.try_get_classified_worker(ONE));
            let _guard = tried.unwrap().unwrap();
            expect_place(&pool, line);
        }
    });
}

#[test]
fn a_key_and_a_class_are_called_what_the_factory_calls_them() {
    watched(|| async {
        let named = || watched_by_nobody(Setup::max(2));
        let keys = |all: Vec<PoolOutstanding>| all.into_iter().map(|it| it.key).collect::<Vec<_>>();
        let (pool, factory) = named().open::<Keyed>();
        factory.call_keys(|key| match key {
            3 => std::panic::resume_unwind(Box::new("label")),
            key => format!("host {key}"),
        });
        let held = [1, 2, 3].map(|key| pool.get_of(key).expect_worker());
        let expected = [Some("host 1".into()), Some("host 2".into()), None];
        assert_eq!(keys(pool.outstanding()), expected);
        drop(held);

        let (pool, factory) = named().open::<Classified>();
        factory.call_keys(|class| format!("class {class}"));
        let _held = [pool.get_of(1).expect_worker(), pool.get_any().expect_worker()];
        assert_eq!(keys(pool.outstanding()), [Some("class 1".into()), Some("class 0".into())]);

        let (pool, factory) = named().open::<General>();
        factory.call_keys(|_| panic!("there are no keys"));
        let _held = pool.get().expect_worker();
        assert_eq!(keys(pool.outstanding()), [None]);
    });
}

#[test]
fn a_pool_in_parts_lists_and_warns_as_one() {
    watched(|| async {
        let (pool, _factory, spy) = warning::<Keyed>(1, 10);
        let mut held = Vec::new();
        for key in 0..20 {
            held.push(pool.get_of(key).expect_worker());
            pass(1).await;
        }
        let times: Vec<_> = pool.outstanding().iter().map(|one| one.held.as_secs()).collect();
        assert_eq!(times, (1..=20).rev().collect::<Vec<_>>());
        let mut told = warnings(&spy);
        assert_eq!(told.len(), 11);
        pass(9).await;
        told.extend(warnings(&spy));
        let mut workers: Vec<_> = told.iter().map(|told| told.worker).collect();
        workers.dedup();
        assert_eq!(workers.len(), 20, "each once");
        assert!(told.iter().all(|told| told.time == Some(secs(10))));
    });
}
