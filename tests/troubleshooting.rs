//! A pool in trouble looks as doc/troubleshooting.md says.

mod common;

use std::time::Duration;

use sfo_pool::PoolErrorCode::{Clearing, Closed, Failed, Timeout};
use sfo_pool::{PoolDestroyReason as Reason, PoolPhase};
use tokio::time::{advance, sleep};

use common::*;

const PAGE: &str = include_str!("../doc/troubleshooting.md");
const TESTS: &str = include_str!("troubleshooting.rs");

fn listed(setup: Setup) -> Setup {
    setup.with(|options| options.with_outstanding(true))
}

laws! {
    async fn more_is_asked_for_than_there_is<P: TestPool>() on General, Keyed, Classified, Any {
        const USE: Duration = secs(1);
        let (pool, _factory) = listed(Setup::max(2)).acquire_timeout(5).open::<P>();
        let mut held = pool.take(2);
        let mut waiters = wait(12, || pool.get());
        let before = pool.statistics();
        for _ in 0..4 {
            advance(USE).await;
            assert!(pool.outstanding().iter().all(|one| one.held <= USE));
            held.clear();
            held.extend(waiters.drain(..2).map(|mut call| call.expect_worker()));
            let status = pool.status();
            assert_eq!((Some(status.borrowed), status.idle), (status.max_count, 0));
            assert!(status.waiting > 0);
        }
        advance(USE).await;
        waiters.iter_mut().for_each(|call| call.expect_code(Timeout));
        let after = pool.statistics();
        assert_eq!(after.served_after_wait - before.served_after_wait, 8);
        assert_eq!(after.timed_out - before.timed_out, 4);
        assert_eq!(after.wait_times.longest(), secs(4));
    }

    async fn a_guard_is_not_given_back<P: TestPool>() on General, Keyed, Classified, Any {
        let (setup, spy) = Spy::on(Setup::max(3).with(|options| {
            options.with_maintenance(true).with_leak_threshold(Some(secs(60)))
        }));
        let (pool, _factory) = setup.open::<P>();
        let mut leaked = Vec::new();
        for _ in 0..3 {
            leaked.push(pool.get().expect_worker());
            sleep(secs(100)).await;
        }
        let _waiters = wait(5, || pool.get());
        let before = pool.statistics();
        sleep(secs(100)).await;
        let (status, after) = (pool.status(), pool.statistics());
        assert_eq!((Some(status.borrowed), status.waiting), (status.max_count, 5));
        assert_eq!(after.served_after_wait, before.served_after_wait);
        assert_eq!(after.destroyed_in_all(), 0);
        let outstanding = pool.outstanding();
        let place = outstanding[0].place;
        assert!(outstanding.iter().all(|one| one.place == place));
        assert_eq!(outstanding.iter().map(|one| one.held.as_secs()).collect::<Vec<_>>(), [400, 300, 200]);
        let told = spy.told();
        let warnings = told.iter().filter(|told| told.event == Event::HeldTooLong);
        let expected = Some((place.file().to_owned(), place.line()));
        assert_eq!(warnings.map(|told| &told.place).collect::<Vec<_>>(), [&expected; 3]);
        assert!(told.iter().all(|told| told.event != Event::CameBack));
    }

    async fn workers_are_created_too_often<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        factory.gate();
        for _ in 0..4 {
            let mut call = wait(1, || pool.get()).remove(0);
            assert_eq!((pool.status().creating, pool.status().idle), (1, 0));
            advance(secs(3)).await;
            factory.end(Outcome::Worker);
            drop(call.expect_worker());
            advance(secs(60)).await;
            pool.cleanup();
        }
        let statistics = pool.statistics();
        assert_eq!(statistics.creation_time / statistics.created as u32, secs(3));
        assert_eq!(statistics.served_by_creation, statistics.started);
        assert_eq!(statistics.destroyed(Reason::Idle), statistics.created);
    }

    async fn the_other_side_is_down<P: TestPool>() on General, Keyed, Classified, Any {
        let (setup, spy) = Spy::on(Setup::max(3));
        let (pool, factory) = setup.open::<P>();
        drop(pool.take(3));
        let before = pool.status().idle as u64;
        (0..3).for_each(|id| factory.worker(id).kill());
        factory.always(Some(Outcome::Error("connection refused")));
        spy.events();
        for failed in 1..=5 {
            pool.get().expect_code(Failed);
            let statistics = pool.statistics();
            assert_eq!((statistics.failed, statistics.creations_failed), (failed, failed));
        }
        assert_eq!(pool.status().total, 0);
        assert_eq!(pool.statistics().destroyed(Reason::Unhealthy), before);
        let failures = spy.events().into_iter().filter(|it| *it == Event::CreationFailed(Failed));
        assert_eq!(failures.count(), 5);
    }

    async fn a_clear_waits_for_a_guard<P: TestPool>() on General, Keyed, Classified, Any {
        for (phase, code) in [(PoolPhase::Clearing, Clearing), (PoolPhase::Closed, Closed)] {
            let (pool, _factory) = listed(Setup::max(3)).open::<P>();
            let mut held = pool.take(3);
            held.truncate(1);
            P::set_label(&held[0], "forgotten");
            let mut clear = if phase == PoolPhase::Closed { pool.close() } else { pool.clear() };
            clear.expect_pending();
            let before = pool.statistics();
            pool.get().expect_code(code);
            let status = pool.status();
            assert_eq!(status.phase, phase);
            assert_eq!((status.borrowed, status.total, status.idle), (1, 1, 0));
            assert_eq!(pool.statistics().refused, before.refused + 1);
            let outstanding = pool.outstanding();
            assert_eq!((outstanding.len(), outstanding[0].label.as_deref()), (1, Some("forgotten")));
            assert_eq!(pool.close_within(secs(0)).expect_ready(), 1);
            drop(held);
            clear.expect_ready();
        }
    }
}

#[test]
fn classes_make_way_for_each_other() {
    watched(|| async {
        let (pool, _factory) = Setup::max(3).open::<Classified>();
        for request in 0..40 {
            drop(pool.get_of(request % 4).expect_worker());
        }
        let (status, statistics) = (pool.status(), pool.statistics());
        assert_eq!(Some(status.total), status.max_count);
        assert_eq!((statistics.created, statistics.served_at_once), (statistics.started, 0));
        let evicted = statistics.destroyed(Reason::Evicted);
        assert_eq!(evicted, statistics.created - statistics.total);
    });
}

#[test]
fn one_key_waits_for_itself() {
    watched(|| async {
        let (pool, factory) = listed(Setup::max(2)).open::<Keyed>();
        factory.call_keys(|key| format!("tenant {key}"));
        drop((0..2).map(|_| pool.get_of(7).expect_worker()).collect::<Vec<_>>());
        let _held: Vec<_> = (0..2).map(|_| pool.get_of(8).expect_worker()).collect();
        let _waiters = wait(3, || pool.get_of(8));
        let (all, starved, other) = (pool.status(), pool.0.status_of(8), pool.0.status_of(7));
        assert!(all.idle > 0 && all.waiting > 0);
        assert_eq!((Some(starved.borrowed), starved.idle), (starved.max_count, 0));
        assert_eq!((starved.waiting, other.waiting), (3, 0));
        let holders =
            pool.outstanding().into_iter().filter(|it| it.key.as_deref() == Some("tenant 8"));
        assert_eq!(holders.count(), starved.borrowed);
    });
}

/// The last cells of the rows about symptoms.
fn named() -> Vec<&'static str> {
    let rows =
        PAGE.lines().skip_while(|line| *line != "## Symptoms").filter(|line| line.starts_with('|'));
    let cells = rows.skip(2).map(|row| row.trim_end_matches('|').rsplit('|').next());
    cells.map(|cell| cell.expect("a cell").trim().trim_matches('`')).collect()
}

#[test]
fn every_row_of_the_page_names_a_test_and_every_test_a_row() {
    let is_law = |line: &&str| line.trim_start().starts_with("async fn ");
    let mut previous = "";
    let mut tests = Vec::new();
    for line in TESTS.lines() {
        if is_law(&line) || previous == "#[test]" {
            let name = line.trim_start().trim_start_matches("async ").trim_start_matches("fn ");
            tests.extend(name.split(['<', '(']).next());
        }
        previous = line;
    }
    tests.retain(|name| !name.starts_with("every_row"));
    let mut named = named();
    named.sort_unstable();
    tests.sort_unstable();
    assert_eq!(named, tests);
}
