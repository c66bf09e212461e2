//! What happens to requests and workers is counted, once and in the right place.

mod common;

use std::collections::VecDeque;
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use allocation_counter::measure;
use sfo_pool::PoolErrorCode::{Cleared, Clearing, Closed, Failed, Full, Timeout};
use sfo_pool::{PoolDestroyReason as Reason, PoolOptions, PoolRetry, PoolStatistics, PoolStatus};
use tokio::time::advance;

use common::*;

/// How requests have ended, and how many are under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Requests {
    at_once: u64,
    after_wait: u64,
    by_creation: u64,
    refused: u64,
    cleared: u64,
    timed_out: u64,
    failed: u64,
    cancelled: u64,
    waiting: u64,
    in_progress: u64,
}

const NONE: Requests = Requests {
    at_once: 0,
    after_wait: 0,
    by_creation: 0,
    refused: 0,
    cleared: 0,
    timed_out: 0,
    failed: 0,
    cancelled: 0,
    waiting: 0,
    in_progress: 0,
};

impl From<&PoolStatistics> for Requests {
    fn from(it: &PoolStatistics) -> Self {
        Self {
            at_once: it.served_at_once,
            after_wait: it.served_after_wait,
            by_creation: it.served_by_creation,
            refused: it.refused,
            cleared: it.cleared,
            timed_out: it.timed_out,
            failed: it.failed,
            cancelled: it.cancelled,
            waiting: it.waiting,
            in_progress: it.in_progress,
        }
    }
}

/// Every request and every worker is counted once.
#[track_caller]
fn check_balance(statistics: &PoolStatistics, status: &PoolStatus) {
    let it = Requests::from(statistics);
    let served = it.at_once + it.after_wait + it.by_creation;
    let ended = it.refused + it.cleared + it.timed_out + it.failed + it.cancelled;
    assert_eq!(statistics.started, served + ended + it.waiting + it.in_progress, "{statistics:?}");
    assert_eq!(statistics.created, statistics.total + statistics.destroyed_in_all());
    assert_eq!(statistics.waiting, status.waiting as u64);
    assert_eq!(statistics.total, (status.total - status.creating) as u64);
}

#[track_caller]
fn expect<P: TestPool>(pool: &P, requests: Requests) {
    let statistics = pool.statistics();
    check_balance(&statistics, &pool.status());
    assert_eq!(Requests::from(&statistics), requests);
}

/// Workers have left the pool for these reasons, in this order, and no other.
#[track_caller]
fn expect_gone<P: TestPool>(pool: &P, spy: &Spy, reasons: &[Reason]) {
    let statistics = pool.statistics();
    check_balance(&statistics, &pool.status());
    for &reason in Reason::ALL {
        let count = reasons.iter().filter(|it| **it == reason).count() as u64;
        assert_eq!(statistics.destroyed(reason), count, "{reason:?}: {statistics:?}");
    }
    expect_told(spy, reasons);
}

#[track_caller]
fn expect_told(spy: &Spy, reasons: &[Reason]) {
    let told = spy.events().into_iter().filter_map(|event| match event {
        Event::Destroyed(reason) => Some(reason),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), reasons);
}

fn spied<P: TestPool>(setup: Setup) -> (P, Factory, Arc<Spy>) {
    let (setup, spy) = Spy::on(setup);
    let (pool, factory) = setup.open::<P>();
    (pool, factory, spy)
}

fn detached(max: u16) -> Setup {
    Setup::max(max).with(|options| options.with_detached_creation(true))
}

fn recycled(max: u16) -> Setup {
    Setup::max(max).with(|options| options.with_recycle_after(Some(Duration::ZERO)))
}

/// The user's code panics, without a report.
fn boom() {
    resume_unwind(Box::new("boom"));
}

laws! {
    async fn a_request_is_served_at_once_after_a_wait_or_by_creation<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        expect(&pool, NONE);
        let unpolled = pool.get();
        expect(&pool, NONE);
        drop(unpolled);
        drop(pool.get().expect_worker());
        expect(&pool, Requests { by_creation: 1, ..NONE });
        let holder = pool.get().expect_worker();
        expect(&pool, Requests { by_creation: 1, at_once: 1, ..NONE });
        let mut waiter = wait(1, || pool.get()).remove(0);
        expect(&pool, Requests { by_creation: 1, at_once: 1, waiting: 1, ..NONE });
        drop(holder);
        expect(&pool, Requests { by_creation: 1, at_once: 1, in_progress: 1, ..NONE });
        waiter.expect_worker();
        expect(&pool, Requests { by_creation: 1, at_once: 1, after_wait: 1, ..NONE });
    }

    async fn a_request_that_creates_is_in_progress<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        expect(&pool, Requests { in_progress: 1, ..NONE });
        factory.end(Outcome::Worker);
        call.expect_worker();
        expect(&pool, Requests { by_creation: 1, ..NONE });
    }

    async fn who_is_turned_away_is_refused<P: TestPool>() on General, Keyed, Classified, Any {
        let setup = Setup::max(1).with(|options| options.with_max_waiting_count(Some(0)));
        let (pool, _factory) = setup.open::<P>();
        let holder = pool.get().expect_worker();
        pool.get().expect_code(Full);
        expect(&pool, Requests { by_creation: 1, refused: 1, ..NONE });
        let mut clear = pool.clear();
        clear.expect_pending();
        pool.get().expect_code(Clearing);
        assert!(pool.try_get().is_err());
        expect(&pool, Requests { by_creation: 1, refused: 3, ..NONE });
        drop(holder);
        clear.expect_ready();
        pool.close().expect_ready();
        pool.get().expect_code(Closed);
        assert!(pool.try_get().is_err());
        expect(&pool, Requests { by_creation: 1, refused: 5, ..NONE });
    }

    async fn who_is_ended_by_a_clear_or_a_close_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for (closes, code) in [(false, Cleared), (true, Closed)] {
            let (pool, factory) = Setup::max(2).open::<P>();
            let holder = pool.get().expect_worker();
            factory.gate();
            let mut creating = wait(1, || pool.get()).remove(0);
            let mut waiters = wait(2, || pool.get());
            let mut clear = if closes { pool.close() } else { pool.clear() };
            clear.expect_pending();
            // Those who don't know it yet.
            expect(&pool, Requests { by_creation: 1, in_progress: 3, ..NONE });
            waiters[0].expect_code(code);
            expect(&pool, Requests { by_creation: 1, in_progress: 2, cleared: 1, ..NONE });
            factory.end(Outcome::Worker);
            creating.expect_code(code);
            let now = Requests { by_creation: 1, in_progress: 1, cleared: 2, ..NONE };
            expect(&pool, now);
            drop(waiters);
            expect(&pool, Requests { cancelled: 1, in_progress: 0, ..now });
            drop(holder);
            clear.expect_ready();
        }
    }

    async fn whose_time_is_up_has_timed_out_when_it_learns_of_it<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).acquire_timeout(10).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(3, || pool.get());
        advance(secs(10)).await;
        waiters[0].expect_code(Timeout);
        // The others are out of the line, and don't know it yet.
        let now = Requests { by_creation: 1, timed_out: 1, ..NONE };
        expect(&pool, Requests { in_progress: 2, ..now });
        drop(holder);
        waiters[1].expect_code(Timeout);
        expect(&pool, Requests { in_progress: 1, timed_out: 2, ..now });
        drop(waiters);
        let now = Requests { cancelled: 1, timed_out: 2, ..now };
        expect(&pool, now);

        factory.worker(0).kill();
        factory.gate();
        let mut creating = wait(1, || pool.get()).remove(0);
        advance(secs(10)).await;
        creating.expect_code(Timeout);
        expect(&pool, Requests { timed_out: 3, ..now });
        pool.get_timeout(Duration::ZERO).expect_code(Timeout);
        expect(&pool, Requests { timed_out: 4, ..now });
        assert_eq!(pool.statistics().creations_cancelled, 2);
    }

    async fn a_creation_that_fails_or_panics_fails_its_request<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for options in [Setup::max(1), detached(1)] {
            let (pool, factory) = options.open::<P>();
            factory.next(Outcome::Error("down"));
            let mut failing = pool.get();
            if failing.poll().is_pending() {
                let_tasks_run().await;
                failing.expect_code(Failed);
            }
            expect(&pool, Requests { failed: 1, ..NONE });
            factory.next(Outcome::Panic("create"));
            let mut panicking = pool.get();
            let mut poll = || match panicking.poll() {
                Poll::Ready(_) => panic!("it panics"),
                Poll::Pending => {}
            };
            let panic = panic_of(&mut poll);
            if panic.is_none() {
                let_tasks_run().await;
                assert_eq!(panic_of(poll).as_deref(), Some("create"));
            }
            drop(panicking);
            expect(&pool, Requests { failed: 2, ..NONE });
            let statistics = pool.statistics();
            assert_eq!((statistics.creations_failed, statistics.creations_cancelled), (2, 0));
        }
    }

    /// Whether it was lent a worker or not.
    async fn a_panic_of_the_users_code_fails_the_request_through_which_it_goes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        // Of the question, at the first look and a further one, and of a destructor that follows.
        for (well, callback) in [(true, Callback::IsWork), (false, Callback::Drop)] {
            let (pool, factory) = Setup::max(1).open::<P>();
            drop(pool.get().expect_worker());
            factory.on(callback, |_| boom());
            factory.worker(0).is_well.store(well, std::sync::atomic::Ordering::SeqCst);
            let mut get = pool.get();
            assert_eq!(panic_of(|| _ = get.poll()).as_deref(), Some("boom"));
            drop(get);
            expect(&pool, Requests { by_creation: 1, failed: 1, ..NONE });
            factory.no_longer_on(callback);

            drop(pool.get().expect_worker());
            factory.on(callback, |_| boom());
            factory.worker(1).is_well.store(well, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(panic_of(|| _ = pool.try_get()).as_deref(), Some("boom"));
            let refused = u64::from(callback == Callback::Drop);
            expect(&pool, Requests { by_creation: 2, failed: 2 - refused, refused, ..NONE });
            factory.no_longer_on(callback);
        }
        // Of the destructor of another one, that has expired.
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let mut held = pool.take(2);
        held.pop();
        advance(secs(5)).await;
        held.pop();
        advance(secs(5)).await;
        factory.on(Callback::Drop, |_| boom());
        let mut get = pool.get();
        assert_eq!(panic_of(|| _ = get.poll()).as_deref(), Some("boom"));
        drop(get);
        expect(&pool, Requests { by_creation: 2, failed: 1, ..NONE });
        factory.no_longer_on(Callback::Drop);
    }

    async fn a_request_that_is_dropped_is_cancelled<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycled(1).open::<P>();
        factory.gate();
        drop(wait(1, || pool.get()));
        expect(&pool, Requests { cancelled: 1, ..NONE });
        assert_eq!(pool.statistics().creations_cancelled, 1, "while it creates");
        factory.open_gate();

        let holder = pool.get().expect_worker();
        drop(wait(1, || pool.get()));
        expect(&pool, Requests { by_creation: 1, cancelled: 2, ..NONE });

        let handed = wait(1, || pool.get());
        drop(holder);
        drop(handed);
        expect(&pool, Requests { by_creation: 1, cancelled: 3, ..NONE });

        factory.recycling().gate();
        drop(wait(1, || pool.get()));
        expect(&pool, Requests { by_creation: 1, cancelled: 4, ..NONE });

        // What it was granted it has not begun.
        factory.recycling().open_gate();
        let holder = pool.get().expect_worker();
        let granted = wait(1, || pool.get());
        P::discard(holder);
        drop(granted);
        expect(&pool, Requests { by_creation: 2, cancelled: 5, ..NONE });
        assert_eq!(pool.statistics().creations_cancelled, 1);
    }

    async fn a_try_is_served_at_once_or_refused<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        assert!(pool.try_get().unwrap().is_none());
        expect(&pool, Requests { refused: 1, ..NONE });
        drop(pool.get().expect_worker());
        drop(pool.try_get().unwrap().unwrap());
        let now = Requests { refused: 1, by_creation: 1, at_once: 1, ..NONE };
        expect(&pool, now);
        factory.worker(0).kill();
        assert!(pool.try_get().unwrap().is_none());
        expect(&pool, Requests { refused: 2, ..now });
        assert_eq!(pool.statistics().destroyed(Reason::Unhealthy), 1);
    }

    async fn a_request_that_was_lent_a_dead_worker_is_in_progress_again<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        factory.worker(0).kill();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (within, list) = (pool.clone(), Arc::clone(&seen));
        factory.on(Callback::IsWork, move |_| {
            list.lock().unwrap().push(Requests::from(&within.statistics()));
        });
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        assert_eq!(*seen.lock().unwrap(), [Requests { by_creation: 1, at_once: 1, ..NONE }]);
        expect(&pool, Requests { by_creation: 1, in_progress: 1, ..NONE });
        factory.end(Outcome::Worker);
        let guard = call.expect_worker();
        expect(&pool, Requests { by_creation: 2, ..NONE });
        factory.no_longer_on(Callback::IsWork);
        drop(guard);
    }

    async fn a_request_that_recycles_is_in_progress_and_served_as_it_was_before<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycled(1).open::<P>();
        drop(pool.get().expect_worker());
        factory.recycling().gate();
        let mut call = wait(1, || pool.get()).remove(0);
        expect(&pool, Requests { by_creation: 1, in_progress: 1, ..NONE });
        factory.recycling().end(Outcome::Worker);
        let holder = call.expect_worker();
        expect(&pool, Requests { by_creation: 1, at_once: 1, ..NONE });

        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(holder);
        waiter.expect_pending();
        expect(&pool, Requests { by_creation: 1, at_once: 1, in_progress: 1, ..NONE });
        factory.recycling().end(Outcome::Worker);
        let holder = waiter.expect_worker();
        expect(&pool, Requests { by_creation: 1, at_once: 1, after_wait: 1, ..NONE });

        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(holder);
        waiter.expect_pending();
        factory.recycling().end(Outcome::Error("stale"));
        waiter.expect_worker();
        expect(&pool, Requests { by_creation: 2, at_once: 1, after_wait: 1, ..NONE });
    }

    async fn a_request_waits_while_its_creation_goes_on_apart<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(1).open::<P>();
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        expect(&pool, Requests { waiting: 1, ..NONE });
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        call.expect_worker();
        expect(&pool, Requests { after_wait: 1, ..NONE });
    }

    async fn a_creation_that_did_not_begin_is_no_creation<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(2).open::<P>();
        let mut first = pool.get();
        first.expect_pending();
        let_tasks_run().await;
        let holder = first.expect_worker();
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        let mut other = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        // The first creation fails while the slot of another worker is granted.
        P::discard(holder);
        factory.end(Outcome::Error("down"));
        let_tasks_run().await;
        call.expect_code(Failed);
        drop(other.poll());
        drop(other);
        let statistics = pool.statistics();
        assert_eq!((statistics.creations_failed, statistics.creations_cancelled), (1, 0));
        assert_eq!(factory.calls(), 2);
        check_balance(&statistics, &pool.status());
    }

    async fn creations_are_counted_and_timed<P: TestPool>() on General, Keyed, Classified, Any {
        let retry = PoolRetry::new(|_| true).with_max_retry_count(1).with_first_delay(secs(1));
        let setup = Setup::max(2).with(|options| options.with_creation_retry(Some(retry)));
        let (pool, factory) = setup.open::<P>();
        factory.gate();
        let counts = || {
            let it = pool.statistics();
            (it.created, it.creations_failed, it.creations_cancelled, it.creation_time.as_secs())
        };
        let mut call = wait(1, || pool.get()).remove(0);
        advance(secs(3)).await;
        assert_eq!(counts(), (0, 0, 0, 0));
        factory.end(Outcome::Worker);
        drop(call.expect_worker());
        assert_eq!(counts(), (1, 0, 0, 3));

        factory.worker(0).kill();
        let mut call = wait(1, || pool.get()).remove(0);
        factory.end(Outcome::Error("down"));
        call.expect_pending();
        advance(secs(2)).await;
        call.expect_pending();
        assert_eq!(counts(), (1, 0, 0, 3));
        factory.end(Outcome::Error("down"));
        call.expect_code(Failed);
        assert_eq!(counts(), (1, 1, 0, 3), "two attempts are one creation");

        drop(wait(1, || pool.get()));
        assert_eq!(counts(), (1, 1, 1, 3));
    }

    async fn what_was_created_for_nobody_counts<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        factory.gate();
        let mut prewarming = pool.prewarm(1);
        prewarming.expect_pending();
        advance(secs(2)).await;
        factory.end(Outcome::Worker);
        prewarming.expect_ready().unwrap();
        let mut prewarming = pool.prewarm(2);
        prewarming.expect_pending();
        drop(prewarming);
        let it = pool.statistics();
        assert_eq!((it.started, it.created, it.creations_cancelled), (0, 1, 1));
        assert_eq!(it.creation_time, secs(2));
        expect(&pool, NONE);
    }

    async fn who_is_served_at_once_has_not_waited<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = recycled(1).open::<P>();
        factory.recycling().gate();
        factory.gate();
        for gate in [&*factory, factory.recycling()] {
            let mut call = wait(1, || pool.get()).remove(0);
            advance(secs(5)).await;
            gate.end(Outcome::Worker);
            drop(call.expect_worker());
        }
        assert!(pool.try_get().unwrap().is_none());
        let waits = pool.statistics().wait_times;
        assert_eq!((waits.count(), waits.sum(), waits.quantile(0.5)), (0, secs(0), None));
    }

    async fn waits_are_known_to_an_eighth<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let mut holder = pool.get().expect_worker();
        for mut waiter in wait(100, || pool.get()) {
            advance(secs(1)).await;
            drop(holder);
            holder = waiter.expect_worker();
        }
        let waits = pool.statistics().wait_times;
        assert_eq!((waits.count(), waits.sum(), waits.longest()), (100, secs(5050), secs(100)));
        for (share, exact) in [(0.0, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)] {
            let time = waits.quantile(share).expect("somebody waited");
            assert!(secs(exact) <= time && time <= secs(exact) * 9 / 8, "{share}: {time:?}");
        }
    }

    async fn only_a_wait_that_was_worth_it_counts<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        drop(wait(1, || pool.get()));
        let mut timed = wait(1, || pool.get_timeout(secs(5))).remove(0);
        let mut cleared = wait(1, || pool.get()).remove(0);
        advance(secs(5)).await;
        timed.expect_code(Timeout);
        let mut clear = pool.clear();
        clear.expect_pending();
        cleared.expect_code(Cleared);
        drop(holder);
        clear.expect_ready();
        assert_eq!(pool.statistics().wait_times.count(), 0);
    }

    async fn who_had_to_queue_before_it_could_create_has_waited<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).max_creations(1).open::<P>();
        factory.gate();
        let mut calls = wait(2, || pool.get());
        advance(secs(3)).await;
        factory.end(Outcome::Worker);
        let _first = calls[0].expect_worker();
        calls[1].expect_pending();
        advance(secs(4)).await;
        factory.end(Outcome::Worker);
        let _second = calls[1].expect_worker();
        let waits = pool.statistics().wait_times;
        assert_eq!((waits.count(), waits.sum()), (1, secs(3)), "the creation is no wait");
    }

    async fn each_time_in_line_is_counted_once<P: TestPool>() on General, Keyed, Classified, Any {
        let waits = |pool: &P| {
            let waits = pool.statistics().wait_times;
            (waits.count(), waits.sum().as_secs())
        };
        // The wait for room and the wait for the creation.
        let (pool, factory) = detached(1).open::<P>();
        let mut first = pool.get();
        first.expect_pending();
        let_tasks_run().await;
        let holder = first.expect_worker();
        let before = waits(&pool);
        assert_eq!(before.1, 0);
        factory.gate();
        let mut second = wait(1, || pool.get()).remove(0);
        advance(secs(3)).await;
        P::discard(holder);
        second.expect_pending();
        let_tasks_run().await;
        advance(secs(4)).await;
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        drop(second.expect_worker());
        assert_eq!(waits(&pool), (before.0 + 2, 7));

        // A recycling between two waits is none.
        let (pool, factory) = recycled(1).open::<P>();
        let holder = pool.get().expect_worker();
        factory.recycling().gate();
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        advance(secs(3)).await;
        drop(holder);
        call.expect_pending();
        advance(secs(4)).await;
        factory.recycling().end(Outcome::Error("stale"));
        call.expect_pending();
        factory.end(Outcome::Worker);
        drop(call.expect_worker());
        assert_eq!(waits(&pool), (1, 3));

        // What was given may be of no use any more.
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut call = wait(1, || pool.get()).remove(0);
        advance(secs(3)).await;
        drop(holder);
        pool.invalidate();
        drop(call.expect_worker());
        assert_eq!(waits(&pool), (1, 3));
    }

    async fn a_wait_is_counted_without_allocation<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let mut holder = Some(pool.get().expect_worker());
        let mut waiters = VecDeque::from(wait(2, || pool.get()));
        let mut allocations = Vec::new();
        while let Some(mut waiter) = waiters.pop_front().filter(|_| allocations.len() < 10) {
            waiters.extend(wait(1, || pool.get()));
            let info = measure(|| {
                holder.take();
                holder = Some(waiter.expect_worker());
            });
            allocations.push((info.count_total, info.bytes_total));
        }
        assert!(allocations[0].0 > 0, "there was no wait before");
        assert!(allocations[1..].iter().all(|it| *it == (0, 0)), "{allocations:?}");
    }

    async fn a_worker_that_is_not_well_is_unhealthy<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(recycled(1));
        let holder = pool.get().expect_worker();
        factory.worker(0).kill();
        drop(holder);
        expect_gone(&pool, &spy, &[Reason::Unhealthy]);
        drop(pool.get().expect_worker());
        factory.worker(1).kill();
        drop(pool.get().expect_worker());
        expect_gone_so_far(&pool, &spy, Reason::Unhealthy, 2);
        factory.recycling().next(Outcome::Error("stale"));
        drop(pool.get().expect_worker());
        expect_gone_so_far(&pool, &spy, Reason::Unhealthy, 3);
    }

    async fn a_worker_goes_because_it_was_idle_too_old_or_used_up<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = spied::<P>(Setup::max(2).idle_timeout(10));
        drop(pool.take(2));
        advance(secs(10)).await;
        drop(pool.get().expect_worker());
        expect_gone(&pool, &spy, &[Reason::Idle; 2]);
        advance(secs(10)).await;
        assert_eq!(pool.cleanup(), 1);
        expect_gone_so_far(&pool, &spy, Reason::Idle, 3);

        let living = Setup::max(2).with(|options| {
            let options = options.with_max_lifetime(Some(secs(10)));
            options.with_max_lifetime_jitter(Duration::ZERO).with_max_use_count(Some(2))
        });
        let (pool, _factory, spy) = spied::<P>(living.clone());
        let holder = pool.get().expect_worker();
        advance(secs(10)).await;
        drop(holder);
        expect_gone(&pool, &spy, &[Reason::Lifetime]);
        drop(pool.get().expect_worker());
        advance(secs(10)).await;
        drop(pool.get().expect_worker());
        expect_gone_so_far(&pool, &spy, Reason::Lifetime, 2);
        advance(secs(10)).await;
        assert_eq!(pool.cleanup(), 1);
        expect_gone_so_far(&pool, &spy, Reason::Lifetime, 3);

        let (pool, _factory, spy) = spied::<P>(living);
        drop(pool.get().expect_worker());
        expect_gone(&pool, &spy, &[]);
        drop(pool.get().expect_worker());
        expect_gone(&pool, &spy, &[Reason::Uses]);
    }

    async fn what_a_clear_a_close_or_the_end_of_the_pool_takes_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for closes in [false, true] {
            let (pool, factory, spy) = spied::<P>(Setup::max(4));
            let mut held = pool.take(3);
            factory.gate();
            let mut creating = wait(1, || pool.get()).remove(0);
            let _handed = wait(1, || pool.get());
            held.pop();
            let mut clear = if closes { pool.close() } else { pool.clear() };
            clear.expect_pending();
            expect_gone(&pool, &spy, &[Reason::Cleared]);
            held.clear();
            expect_gone_so_far(&pool, &spy, Reason::Cleared, 3);
            factory.end(Outcome::Worker);
            creating.expect_error();
            expect_gone_so_far(&pool, &spy, Reason::Cleared, 4);
            clear.expect_ready();
        }
        let (pool, _factory, spy) = spied::<P>(Setup::max(2));
        let mut held = pool.take(2);
        held.pop();
        drop(pool);
        expect_told(&spy, &[Reason::Cleared]);
        drop(held);
        expect_told(&spy, &[Reason::Cleared]);
    }

    async fn what_the_user_takes_out_is_discarded_or_detached<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(2));
        P::discard(pool.get().expect_worker());
        expect_gone(&pool, &spy, &[Reason::Discarded]);
        drop(pool.take(2));
        pool.retain(|worker| worker.id() == 1);
        expect_gone_so_far(&pool, &spy, Reason::Discarded, 2);
        let own = P::detach(pool.get().expect_worker());
        let statistics = pool.statistics();
        assert_eq!(statistics.destroyed(Reason::Detached), 1);
        assert_eq!((statistics.destroyed_in_all(), statistics.total), (3, 0));
        assert_eq!(factory.live(), 1);
        drop(own);
        check_balance(&pool.statistics(), &pool.status());
    }

    async fn what_is_too_many_when_the_pool_shrinks_is_surplus<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory, spy) = spied::<P>(Setup::max(3));
        let mut held = pool.take(3);
        held.pop();
        pool.resize(Some(1)).unwrap();
        expect_gone(&pool, &spy, &[Reason::Surplus]);
        held.pop();
        expect_gone_so_far(&pool, &spy, Reason::Surplus, 2);
        held.pop();
        expect_gone_so_far(&pool, &spy, Reason::Surplus, 2);
    }

    async fn what_is_idle_beyond_the_limit_is_surplus<P: TestPool>() on General, Keyed {
        let (pool, _factory, spy) = spied::<P>(Setup::max(3).max_idle(1));
        drop(pool.take(3));
        expect_gone(&pool, &spy, &[Reason::Surplus; 2]);
        let (pool, _factory, spy) = spied::<P>(Setup::max(3).max_idle(0));
        drop(pool.take(1));
        expect_gone(&pool, &spy, &[Reason::Surplus]);
    }

    async fn what_unwinds_or_panics_when_it_is_asked_is_panicked<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(2));
        let holder = pool.get().expect_worker();
        panic_of(move || {
            let _holder = holder;
            boom();
        });
        expect_gone(&pool, &spy, &[Reason::Panicked]);

        let holder = pool.get().expect_worker();
        factory.on(Callback::IsWork, |_| boom());
        drop(holder);
        expect_gone_so_far(&pool, &spy, Reason::Panicked, 2);
        factory.no_longer_on(Callback::IsWork);

        drop(pool.get().expect_worker());
        factory.on(Callback::IsWork, |_| boom());
        let mut get = pool.get();
        panic_of(|| _ = get.poll());
        drop(get);
        factory.no_longer_on(Callback::IsWork);
        expect_gone_so_far(&pool, &spy, Reason::Panicked, 3);

        drop(pool.get().expect_worker());
        panic_of(|| {
            pool.retain(|_| {
                boom();
                true
            });
        });
        expect_gone_so_far(&pool, &spy, Reason::Panicked, 4);
    }

    async fn what_is_given_up_with_all_of_before_is_invalidated<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, spy) = spied::<P>(Setup::max(3));
        let mut held = pool.take(2);
        held.pop();
        factory.gate();
        let second = pool.get().expect_worker();
        let mut creating = wait(1, || pool.get()).remove(0);
        drop(second);
        pool.invalidate();
        expect_gone(&pool, &spy, &[Reason::Invalidated]);
        held.pop();
        expect_gone_so_far(&pool, &spy, Reason::Invalidated, 2);
        factory.end(Outcome::Worker);
        creating.expect_pending();
        expect_gone_so_far(&pool, &spy, Reason::Invalidated, 3);
        factory.open_gate();
        factory.end(Outcome::Worker);
        let holder = creating.expect_worker();

        // On its way to a request.
        let mut held = pool.take(2);
        let mut waiter = wait(1, || pool.get()).remove(0);
        drop(holder);
        pool.invalidate();
        waiter.expect_worker();
        held.clear();
        expect_gone_so_far(&pool, &spy, Reason::Invalidated, 6);
        assert_eq!(pool.statistics().created, 7);
    }

    async fn the_books_balance_whatever_happens<P: TestPool>() on General, Keyed, Classified, Any {
        for seed in 0..6 {
            let spy = live::<P>(seed).await;
            let count = |is: Is, events: &[Event]| {
                events.iter().filter(|event| is(event)).count()
            };
            let events = spy.events();
            let pairs: [[Is; 2]; 3] = [
                [|it| matches!(it, Event::Created), |it| matches!(it, Event::Destroyed(_))],
                [|it| matches!(it, Event::Acquired(_)), |it| matches!(it, Event::Returned)],
                [|it| matches!(it, Event::Waiting), |it| matches!(it, Event::Waited)],
            ];
            for [begins, ends] in pairs {
                let counts = (count(begins, &events), count(ends, &events));
                assert_eq!(counts.0, counts.1, "seed {seed}");
                assert!(counts.0 > 20, "seed {seed}: {counts:?}");
            }
        }
    }
}

/// So many went for one reason, and were told about since the last look.
#[track_caller]
fn expect_gone_so_far<P: TestPool>(pool: &P, spy: &Spy, reason: Reason, count: u64) {
    let statistics = pool.statistics();
    check_balance(&statistics, &pool.status());
    assert_eq!((statistics.destroyed(reason), statistics.destroyed_in_all()), (count, count));
    let told = spy.events().into_iter().filter(|event| matches!(event, Event::Destroyed(_)));
    assert!(told.into_iter().all(|event| event == Event::Destroyed(reason)));
}

/// Whether an event is of some kind.
type Is = fn(&Event) -> bool;

/// All options that go together.
fn with_everything(is_detached: bool) -> Setup {
    let retry = PoolRetry::new(|_| true).with_max_retry_count(1).with_first_delay(secs(1));
    Setup::max(3).idle_timeout(20).max_idle(2).max_per_class(2).max_creations(2).with(|options| {
        options
            .with_name("everything")
            .with_acquire_timeout(Some(secs(10)))
            .with_max_waiting_count(Some(4))
            .with_creation_timeout(Some(secs(5)))
            .with_creation_retry(Some(retry))
            .with_detached_creation(is_detached)
            .with_max_lifetime(Some(secs(60)))
            .with_max_use_count(Some(9))
            .with_recycle_after(Some(secs(3)))
            .with_recycle_timeout(Some(secs(4)))
            .with_maintenance(true)
            .with_destroy_timeout(Some(secs(2)))
            .with_outstanding(true)
            .with_leak_threshold(Some(secs(8)))
    })
}

/// Lives through a long history at random. Everything has come to its end after it.
async fn live<P: TestPool>(seed: u64) -> Arc<Spy> {
    let (pool, factory, spy) = spied::<P>(with_everything(seed % 2 == 0));
    let mut dice = Dice::new(seed);
    let (mut calls, mut guards, mut clears) = (Vec::new(), Vec::new(), Vec::new());
    let mut prewarming = Vec::new();
    for _ in 0..4000 {
        match dice.roll(32) {
            0..4 => calls.push(pool.get()),
            4 => calls.push(pool.get_timeout(secs(dice.roll(4) as u64))),
            5..11 => {
                for mut call in mem::take(&mut calls) {
                    let mut polled = None;
                    panic_of(|| polled = Some(call.poll()));
                    match polled {
                        Some(Poll::Pending) => calls.push(call),
                        Some(Poll::Ready(result)) => guards.extend(result.ok()),
                        None => {}
                    }
                }
            }
            11 => drop(dice.pick(&mut calls)),
            12..16 => drop(dice.pick(&mut guards)),
            16 => drop(dice.pick(&mut guards).map(P::discard)),
            17 => drop(dice.pick(&mut guards).map(P::detach)),
            18 => guards.extend(pool.try_get().ok().flatten()),
            19 if factory.created() > 0 => factory.worker(dice.roll(factory.created())).kill(),
            20 => advance(secs(dice.roll(3) as u64)).await,
            21 if dice.roll(4) == 0 => factory.next(Outcome::Error("down")),
            22 if dice.roll(4) == 0 => factory.next(Outcome::Panic("create")),
            23 if dice.roll(4) == 0 => factory.recycling().next(Outcome::Error("stale")),
            24 if dice.roll(2) == 0 => factory.gate(),
            25 => {
                factory.open_gate();
                while factory.waiting() > 0 {
                    factory.end(Outcome::Worker);
                }
            }
            26 if dice.roll(8) == 0 => {
                let mut clear = pool.clear();
                clears.extend(clear.poll().is_pending().then_some(clear));
            }
            27 if dice.roll(4) == 0 => clears.clear(),
            28 if dice.roll(4) == 0 => pool.invalidate(),
            29 if dice.roll(4) == 0 => {
                pool.retain(|worker| worker.id() % 3 > 0);
                pool.resize(Some(2 + dice.roll(2) as u16)).unwrap();
            }
            30 => {
                let mut call = dice.pick(&mut prewarming).unwrap_or_else(|| pool.prewarm(2));
                panic_of(|| prewarming.extend(call.poll().is_pending().then_some(call)));
            }
            31 if dice.roll(4) == 0 => prewarming.clear(),
            _ => let_tasks_run().await,
        }
        check_balance(&pool.statistics(), &pool.status());
    }
    factory.forget_script();
    drop((calls, guards, clears, prewarming));
    factory.open_gate();
    while factory.waiting() > 0 {
        factory.end(Outcome::Worker);
    }
    let_tasks_run().await;
    let mut close = pool.close();
    let is_pending = close.poll().is_pending();
    for _ in 0..10 {
        let_tasks_run().await;
        advance(secs(3)).await;
    }
    let_tasks_run().await;
    if is_pending {
        close.expect_ready();
    }
    let statistics = pool.statistics();
    check_balance(&statistics, &pool.status());
    let left = (statistics.total, statistics.waiting, statistics.in_progress);
    assert_eq!(left, (0, 0, 0), "seed {seed}");
    spy
}

#[test]
fn what_makes_way_for_another_class_is_evicted() {
    watched(|| async {
        let (pool, _factory, spy) = spied::<Classified>(Setup::max(1));
        drop(pool.get_of(1).expect_worker());
        drop(pool.get_of(2).expect_worker());
        expect_gone(&pool, &spy, &[Reason::Evicted]);
    });
}

/// A worker of a class that was full is created, and goes at once.
#[test]
fn what_is_of_a_class_that_is_full_is_surplus() {
    watched(|| async {
        let (pool, factory, spy) = spied::<Classified>(Setup::max(3).max_per_class(1));
        let _first = pool.get_of(1).expect_worker();
        factory.next(Outcome::WorkerOf(1));
        let waiting = wait(1, || pool.get_any());
        expect_gone(&pool, &spy, &[Reason::Surplus]);
        drop(waiting);
    });
}

#[test]
fn a_worker_that_panics_when_it_is_matched_is_panicked() {
    watched(|| async {
        let (pool, factory, spy) = spied::<Classified>(Setup::max(2));
        let holder = pool.get_of(1).expect_worker();
        let _other = pool.get_of(2).expect_worker();
        let _waiter = wait(1, || pool.get_of(2));
        factory.on(Callback::Serves, |id| {
            if id == 0 {
                boom();
            }
        });
        drop(holder);
        expect_gone(&pool, &spy, &[Reason::Panicked]);
        factory.no_longer_on(Callback::Serves);
    });
}

/// It keeps its place while it is not given anything.
#[test]
fn a_request_for_any_class_waits_on_when_what_it_created_is_of_a_full_one() {
    watched(|| async {
        let (pool, factory) = detached(2).max_per_class(1).open::<Any>();
        let mut first = pool.get();
        first.expect_pending();
        let_tasks_run().await;
        let holder = first.expect_worker();
        factory.gate();
        let mut call = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        let before = pool.statistics().wait_times;
        advance(secs(3)).await;
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        // It is granted another creation, which it does not begin.
        call.expect_pending();
        advance(secs(4)).await;
        drop(holder);
        drop(call.expect_worker());
        let after = pool.statistics().wait_times;
        assert_eq!((after.count() - before.count(), after.sum() - before.sum()), (2, secs(7)));

        let (pool, factory) = detached(4).max_per_class(1).open::<Any>();
        let mut first = pool.get();
        first.expect_pending();
        let_tasks_run().await;
        let holder = first.expect_worker();
        factory.gate();
        let mut older = wait(1, || pool.get()).remove(0);
        let mut call = wait(1, || pool.get()).remove(0);
        let younger = wait(1, || pool.get());
        older.expect_pending();
        let_tasks_run().await;
        factory.open_gate();
        call.expect_pending();
        let_tasks_run().await;
        assert_eq!(pool.statistics().destroyed(Reason::Surplus), 1);
        advance(secs(3)).await;
        // The slot that its creation leaves is for the older one.
        call.expect_pending();
        drop(younger);
        drop(older);
        advance(secs(4)).await;
        let before = pool.statistics().wait_times;
        drop(holder);
        drop(call.expect_worker());
        let after = pool.statistics().wait_times;
        assert_eq!((after.count() - before.count(), after.sum() - before.sum()), (1, secs(7)));
    });
}

#[test]
fn a_pool_in_parts_counts_as_one() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<Keyed>();
        let held: Vec<_> = (0..50).map(|key| pool.get_of(key).expect_worker()).collect();
        let mut waiters: Vec<_> =
            (0..50).map(|key| wait(1, || pool.get_of(key)).remove(0)).collect();
        advance(secs(2)).await;
        drop(held);
        let _held: Vec<_> = waiters.iter_mut().map(Call::expect_worker).collect();
        let statistics = pool.statistics();
        assert_eq!((statistics.started, statistics.created), (100, 50));
        let waits = &statistics.wait_times;
        assert_eq!((waits.count(), waits.sum(), waits.longest()), (50, secs(100), secs(2)));
        expect(&pool, Requests { by_creation: 50, after_wait: 50, ..NONE });
    });
}

/// Wherever one is dropped on the way, at last with the worker in hand.
#[test]
fn a_key_whose_destructor_panics_fails_its_request() {
    use common::mines::{self, Barracks, Ground, Place};
    watched(|| async {
        mines::hush();
        let mut survivors = 0;
        for passes in 0..10 {
            let pool = mines::Keyed::open(Barracks(Arc::default()), PoolOptions::default());
            drop(mines::poll(&mut pool.get(3)));
            mines::lay([(Place::KeyDrop, passes)]);
            let (mut get, mut served) = (pool.get(3), None);
            let panic = panic_of(|| served = Some(mines::poll(&mut get)));
            mines::disarm();
            let statistics = pool.statistics();
            let failed = u64::from(panic.is_some());
            assert_eq!((statistics.failed, statistics.served_at_once), (failed, 1 - failed));
            survivors += failed * statistics.total;
        }
        assert!(survivors > 0, "one of them is the request's own");
    });
}
