//! Long random histories, in which the scheduler and a naive model must agree after every step.
//!
//! A history that fails is shrunk, and its seed kept in `proptest-regressions`, to be tried first
//! from then on. `PROPTEST_CASES` makes more histories, `PROPTEST_RNG_SEED` others.

use std::mem;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::choices::{Bounds, Choice, Extras};
use super::comparison::Pair;
use super::world::World;
use crate::scheduler::{Rules, Sharing};

impl World {
    /// One of the choices of this kind, if there is any now.
    fn choose(&self, (kind, pick): (Choice, usize), bounds: &Bounds) -> Option<Choice> {
        let mut choices = self.choices(bounds);
        choices.retain(|choice| mem::discriminant(choice) == mem::discriminant(&kind));
        choices.get(pick % choices.len().max(1)).copied()
    }
}

/// A history names kinds of events, so that it keeps its sense when some of them are left out.
#[derive(Debug)]
struct History {
    rules: Rules,
    bounds: Bounds,
    events: Vec<(Choice, usize)>,
}

fn kinds() -> impl Strategy<Value = Choice> {
    use Choice::*;
    let often = [Request(None), Collect(0), CreatedAs(0, 0), CreatedApart(0, 0), Return(0)];
    let at_times = [IsWell(0), Destroyed(0), IsDead(0), Cancel(0), AbandonClear(0), EndClear(0)];
    let mut seldom =
        vec![CreationFails(0), ReturnDead(0), TimePasses, Expire, Clear, FailsApart(0)];
    seldom.extend([Rest(false), Rest(true), Rest(true), OpenReserve, OpenReserve, OpenSpare(None)]);
    seldom.extend([Invalidate, Resize(0), TakeAll, Restore, Restore, Deny]);
    seldom.extend([HurriedRequest(None), HurriedRequest(None), TryRequest(None)]);
    let kinds = [often.repeat(9), at_times.repeat(3), seldom.clone()].concat();
    // A pool is closed but once.
    let last = [often.to_vec(), vec![Close]].concat();
    prop_oneof![60 => prop::sample::select(kinds), 1 => prop::sample::select(last)]
}

fn limit(least: usize) -> impl Strategy<Value = usize> {
    prop_oneof![3 => least..=3, 1 => Just(usize::MAX)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let sharing = prop_oneof![
        1 => Just(Sharing::Sole),
        1 => Just(Sharing::Apart),
        3 => (1..=3_usize).prop_map(Sharing::Target),
    ];
    let idle_timeout = prop::option::of(0..=3_u64);
    let overshoot_limit = prop_oneof![2 => Just(usize::MAX), 1 => 0..=2_usize];
    let reserve = 0..=2_usize;
    let ways = (reserve, prop::bool::weighted(0.3), prop::bool::weighted(0.3), overshoot_limit);
    let max_uses = prop_oneof![2 => Just(u64::MAX), 1 => 1..=3_u64];
    let waiting_limit = prop_oneof![2 => Just(usize::MAX), 1 => 0..=2_usize];
    let limits = (limit(1), limit(0), limit(1), waiting_limit);
    (sharing, limits, idle_timeout, max_uses, 0..=2_u32, ways).prop_map(
        |(sharing, limits, idle_timeout, max_uses, max_passes, ways)| {
            let (reserve, creates_apart, creates_first, overshoot_limit) = ways;
            let (bucket_limit, bucket_idle_limit, creation_limit, waiting_limit) = limits;
            Rules {
                bucket_limit,
                bucket_idle_limit,
                creation_limit,
                waiting_limit,
                idle_timeout,
                max_uses,
                max_passes,
                // Buckets apart have none.
                reserve: if sharing == Sharing::Apart { 0 } else { reserve },
                creates_apart,
                creates_first,
                overshoot_limit,
                ..Rules::unlimited(sharing)
            }
        },
    )
}

fn history() -> impl Strategy<Value = History> {
    let events = prop::collection::vec((kinds(), 0..12_usize), 0..=250);
    let span = prop::option::of(0..=4_u64);
    (rules(), span, 1..=3_u32, 1..=6_usize, events).prop_map(
        |(rules, span, classes, requests, events)| {
            let classes = if rules.sharing == Sharing::Sole { 1 } else { classes };
            let bounds =
                Bounds { classes, requests, clears: 2, extras: Extras { span, ..Extras::all(3) } };
            History { rules, bounds, events }
        },
    )
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0),
        chosen => chosen,
    };
    ProptestConfig {
        cases: default.cases.max(5000),
        max_shrink_iters: 100_000,
        rng_seed,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn scheduler_and_model_agree(history in history()) {
        let mut pair = Pair::new(history.rules, &history.bounds);
        for event in history.events {
            if let Some(choice) = pair.world.choose(event, &history.bounds) {
                pair.apply(choice);
            }
        }
    }
}
