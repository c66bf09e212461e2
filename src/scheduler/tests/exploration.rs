//! Every state that a small scheduler can reach, by every event that can happen in it.
//!
//! From an empty scheduler, breadth first, equal states once. In each state every invariant holds,
//! after each event only those were served whose turn it was, and if from there on everything ends
//! well, everybody is served and nothing is left.

use std::collections::{HashSet, VecDeque};
use std::panic::{self, AssertUnwindSafe};

use super::choices::{Bounds, Extras};
use super::world::World;
use crate::scheduler::{Rules, Sharing};

/// How much there is to explore.
#[derive(Debug, Default)]
struct Extent {
    states: usize,
    events: usize,
}

fn explore(name: &str, rules: Rules, bounds: &Bounds) {
    let mut extent = Extent::default();
    let start = World::within(rules, bounds);
    let mut seen = HashSet::from([start.fingerprint()]);
    let mut frontier = VecDeque::from([start]);
    while let Some(world) = frontier.pop_front() {
        extent.states += 1;
        for choice in world.choices(bounds) {
            extent.events += 1;
            let mut next = world.clone();
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                next.apply(choice);
                next.check_service(choice);
                next.check_tally();
            }));
            assert!(outcome.is_ok(), "{name}: {choice:?} in\n{world:#?}");
            if seen.insert(next.fingerprint()) {
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                    next.check();
                    next.clone().wind_up();
                }));
                assert!(outcome.is_ok(), "{name}: {choice:?} in\n{world:#?}");
                frontier.push_back(next);
            }
        }
    }
    println!("{name}: {} states, {} events", extent.states, extent.events);
}

/// A small scheduler, in all variants of its limits that make a difference.
fn explore_all(name: &str, base: Rules, bounds: &Bounds) {
    explore(name, base, bounds);
    let name = |variant: &str| format!("{name}, {variant}");
    explore(&name("expiry"), Rules { idle_timeout: Some(1), ..base }, bounds);
    explore(&name("one creation at a time"), Rules { creation_limit: 1, ..base }, bounds);
    if matches!(base.sharing, Sharing::Target(_)) {
        for bucket_limit in [1, 2] {
            let name = name(&format!("{bucket_limit} of a class"));
            explore(&name, Rules { bucket_limit, ..base }, bounds);
        }
    } else {
        for bucket_idle_limit in [0, 1] {
            let name = name(&format!("{bucket_idle_limit} idle"));
            explore(&name, Rules { bucket_idle_limit, ..base }, bounds);
        }
    }
}

/// Each kind of event that is not part of every life on its own.
fn explore_extras(name: &str, base: Rules, bounds: Bounds) {
    let with = |variant: &str, rules: Rules, extras: Extras| {
        explore(&format!("{name}, {variant}"), rules, &Bounds { extras, ..bounds });
    };
    let none = Extras::default();
    let expiry = Rules { idle_timeout: Some(1), ..base };
    with("closing", base, Extras { close: true, ..none });
    with("invalidating", base, Extras { invalidate: true, ..none });
    with("resizing", base, Extras { sizes: 2, ..none });
    with("retaining", base, Extras { retain: true, ..none });
    with("retaining and expiry", expiry, Extras { retain: true, ..none });
    with("deadlines", base, Extras { deadlines: true, ..none });
    let tried = Rules { idle_timeout: Some(2), ..base };
    with("tries", tried, Extras { tries: true, ..none });
    with("one waits", Rules { waiting_limit: 1, ..base }, none);
    with("two uses", Rules { max_uses: 2, ..base }, none);
    with("a short life", base, Extras { span: Some(1), ..none });
}

/// Creations apart from their requests, of which one at a time may have to wait for another.
fn explore_apart(name: &str, base: Rules, bounds: &Bounds) {
    let base = Rules { creates_apart: true, ..base };
    explore(name, base, bounds);
    let name = |variant: &str| format!("{name}, {variant}");
    explore(&name("one creation at a time"), Rules { creation_limit: 1, ..base }, bounds);
    let with = |variant: &str, extras| {
        let bounds = Bounds { clears: 0, extras, ..*bounds };
        explore(&name(variant), base, &bounds);
    };
    with("invalidating", Extras { invalidate: true, ..Extras::default() });
    with("deadlines", Extras { deadlines: true, ..Extras::default() });
}

#[test]
fn every_state_of_the_sole_bucket_with_creations_apart_is_right() {
    let rules = Rules { bucket_limit: 2, ..Rules::unlimited(Sharing::Sole) };
    let bounds = Bounds { classes: 1, requests: 3, clears: 1, extras: Extras::default() };
    explore_apart("sole, creations apart", rules, &bounds);
}

#[test]
fn every_state_of_a_target_with_creations_apart_is_right() {
    let rules = Rules { bucket_limit: 1, max_passes: 1, ..Rules::unlimited(Sharing::Target(1)) };
    let bounds = Bounds { classes: 2, requests: 2, clears: 1, extras: Extras::default() };
    explore_apart("target, creations apart", rules, &bounds);
}

/// Above the target: for a replacement, and for classes that have nothing.
fn explore_excess(name: &str, base: Rules, bounds: &Bounds) {
    explore(name, base, bounds);
    let name = |variant: &str| format!("{name}, {variant}");
    explore(&name("one creation at a time"), Rules { creation_limit: 1, ..base }, bounds);
    let extras = Extras { sizes: 2, ..Extras::default() };
    explore(&name("resizing"), base, &Bounds { clears: 0, extras, ..*bounds });
    let base = Rules { creates_apart: true, bucket_limit: 1, ..base };
    explore(&name("creations apart"), base, &Bounds { clears: 0, ..*bounds });
}

#[test]
fn every_state_of_a_target_where_the_replacement_comes_first_is_right() {
    let base = Rules { max_passes: 1, ..Rules::unlimited(Sharing::Target(2)) };
    let bounds = Bounds { classes: 2, requests: 2, clears: 1, extras: Extras::default() };
    for overshoot_limit in [0, usize::MAX] {
        let rules = Rules { creates_first: true, overshoot_limit, ..base };
        explore_excess(&format!("create first, {overshoot_limit} over"), rules, &bounds);
    }
}

#[test]
fn every_state_of_a_target_that_few_may_exceed_is_right() {
    let base = Rules { max_passes: 1, ..Rules::unlimited(Sharing::Target(1)) };
    let bounds = Bounds { classes: 3, requests: 2, clears: 0, extras: Extras::default() };
    for overshoot_limit in [0, 1] {
        let rules = Rules { overshoot_limit, ..base };
        explore_excess(&format!("{overshoot_limit} over"), rules, &bounds);
    }
}

/// What a keeper does, and what others create before anybody asks.
fn explore_keeper(name: &str, base: Rules, bounds: &Bounds) {
    let none = Extras { keeper: true, ..Extras::default() };
    let with = |variant: &str, rules: Rules, extras: Extras| {
        explore(&format!("{name}, {variant}"), rules, &Bounds { extras, ..*bounds });
    };
    let reserve = Rules { reserve: 1, ..base };
    with("reserve", reserve, none);
    with("expiry", Rules { idle_timeout: Some(1), ..reserve }, none);
    with("a short life", base, Extras { span: Some(1), ..none });
    with("one creation at a time", Rules { creation_limit: 1, ..reserve }, none);
    with("retaining, invalidating", reserve, Extras { retain: true, invalidate: true, ..none });
    with("spares", base, Extras { spares: true, ..Extras::default() });
    with("spares, apart", Rules { creates_apart: true, ..base }, Extras { spares: true, ..none });
}

#[test]
fn every_state_of_the_sole_bucket_with_a_keeper_is_right() {
    let rules = Rules { bucket_limit: 2, ..Rules::unlimited(Sharing::Sole) };
    let bounds = Bounds { classes: 1, requests: 2, clears: 1, extras: Extras::default() };
    explore_keeper("sole, keeper", rules, &bounds);
}

#[test]
fn every_state_of_a_target_with_a_keeper_is_right() {
    let rules = Rules { max_passes: 1, ..Rules::unlimited(Sharing::Target(1)) };
    let bounds = Bounds { classes: 2, requests: 2, clears: 0, extras: Extras::default() };
    explore_keeper("target, keeper", rules, &bounds);
}

#[test]
fn every_state_of_the_sole_bucket_is_right() {
    for bucket_limit in [1, 2] {
        let rules = Rules { bucket_limit, ..Rules::unlimited(Sharing::Sole) };
        let bounds = Bounds { classes: 1, requests: 4, clears: 2, extras: Extras::default() };
        explore_all(&format!("sole, limit {bucket_limit}"), rules, &bounds);
    }
}

#[test]
fn every_state_of_buckets_apart_is_right() {
    for bucket_limit in [1, 2] {
        let rules = Rules { bucket_limit, ..Rules::unlimited(Sharing::Apart) };
        let bounds = Bounds { classes: 2, requests: 3, clears: 1, extras: Extras::default() };
        explore_all(&format!("apart, limit {bucket_limit}"), rules, &bounds);
    }
}

#[test]
fn every_state_of_buckets_with_a_target_is_right() {
    for target in [1, 2] {
        let rules = Rules { max_passes: 1, ..Rules::unlimited(Sharing::Target(target)) };
        let bounds = Bounds { classes: 2, requests: 3, clears: 1, extras: Extras::default() };
        explore_all(&format!("target {target}"), rules, &bounds);
    }
}

#[test]
fn every_state_of_the_sole_bucket_under_operation_is_right() {
    let rules = Rules { bucket_limit: 2, ..Rules::unlimited(Sharing::Sole) };
    let bounds = Bounds { classes: 1, requests: 4, clears: 2, extras: Extras::default() };
    explore_extras("sole", rules, bounds);
}

#[test]
fn every_state_of_buckets_apart_under_operation_is_right() {
    let rules = Rules { bucket_limit: 2, ..Rules::unlimited(Sharing::Apart) };
    let bounds = Bounds { classes: 2, requests: 2, clears: 1, extras: Extras::default() };
    explore_extras("apart", rules, bounds);
}

#[test]
fn every_state_of_buckets_with_a_target_under_operation_is_right() {
    let rules = Rules { max_passes: 1, ..Rules::unlimited(Sharing::Target(2)) };
    let bounds = Bounds { classes: 2, requests: 2, clears: 1, extras: Extras::default() };
    explore_extras("target", rules, bounds);
}
