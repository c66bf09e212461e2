//! Long random histories, with more requests, buckets and workers than can be explored.

use std::mem;
use std::panic::{self, AssertUnwindSafe};

use super::choices::{Bounds, Choice, Extras};
use super::world::World;
use crate::scheduler::{Rules, Sharing};

const STEPS: usize = 120;
const HISTORIES: u64 = 60;

/// A small generator, so that a failing history can be repeated from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<T: Copy>(&mut self, sides: &[T]) -> T {
        sides[self.roll(sides.len())]
    }

    /// What ends everything comes up less often, so that there is something to end.
    fn choose(&mut self, world: &World) -> Choice {
        let extras = Extras::all(3);
        let bounds = Bounds { classes: world.classes, requests: 6, clears: 2, extras };
        let choices = world.choices(&bounds);
        loop {
            let choice = self.pick(&choices);
            let ends_much =
                matches!(choice, Choice::Clear | Choice::TimePasses | Choice::Invalidate);
            let sides = match choice {
                Choice::Close => 100,
                _ if ends_much => 5,
                _ => 1,
            };
            if self.roll(sides) == 0 {
                return choice;
            }
        }
    }
}

fn live(rules: Rules, classes: u32) {
    for seed in 1..=HISTORIES {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new(rules, classes);
        let mut history = Vec::new();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..STEPS {
                let choice = dice.choose(&world);
                history.push(choice);
                world.apply(choice);
                world.check();
            }
            world.clone().wind_up();
        }));
        assert!(outcome.is_ok(), "{rules:?} seed {seed}: {history:?}\n{world:#?}");
    }
}

fn unlimited(sharing: Sharing) -> Rules {
    Rules::unlimited(sharing)
}

#[test]
fn the_sole_bucket_keeps_every_invariant() {
    for bucket_limit in [1, 2, 3] {
        for (bucket_idle_limit, creation_limit) in
            [(usize::MAX, usize::MAX), (0, usize::MAX), (1, 1), (usize::MAX, 1)]
        {
            let sole = unlimited(Sharing::Sole);
            let limits = Rules { bucket_limit, bucket_idle_limit, creation_limit, ..sole };
            live(limits, 1);
            live(Rules { idle_timeout: Some(2), ..limits }, 1);
            live(Rules { creates_apart: true, ..limits }, 1);
            live(Rules { reserve: 1, idle_timeout: Some(2), ..limits }, 1);
        }
    }
}

#[test]
fn buckets_apart_keep_every_invariant() {
    for bucket_limit in [1, 2] {
        let limits = Rules { bucket_limit, ..unlimited(Sharing::Apart) };
        live(limits, 3);
        live(Rules { bucket_idle_limit: 1, idle_timeout: Some(2), ..limits }, 3);
        live(Rules { creation_limit: 1, ..limits }, 2);
        live(Rules { creates_apart: true, ..limits }, 2);
    }
}

#[test]
fn buckets_with_a_target_keep_every_invariant() {
    for target in [1, 2, 3] {
        let limits = Rules { max_passes: 2, ..unlimited(Sharing::Target(target)) };
        for classes in [2, 3] {
            live(limits, classes);
            live(Rules { bucket_limit: 1, ..limits }, classes);
            live(Rules { bucket_limit: 2, idle_timeout: Some(2), ..limits }, classes);
            live(Rules { creation_limit: 1, ..limits }, classes);
            live(Rules { creation_limit: 2, bucket_limit: 1, ..limits }, classes);
            live(Rules { creates_apart: true, ..limits }, classes);
            live(Rules { creates_first: true, ..limits }, classes);
            live(Rules { reserve: 2, idle_timeout: Some(2), ..limits }, classes);
            live(
                Rules { creates_first: true, creates_apart: true, bucket_limit: 1, ..limits },
                classes,
            );
            live(Rules { overshoot_limit: 0, ..limits }, classes);
            live(Rules { overshoot_limit: 1, creates_first: true, ..limits }, classes);
            live(
                Rules { creates_apart: true, creation_limit: 2, bucket_limit: 1, ..limits },
                classes,
            );
        }
    }
}

/// A history must be able to reach what the rules are about, or its invariants prove nothing.
#[test]
fn every_kind_of_event_happens() {
    let target = unlimited(Sharing::Target(2));
    let rules = Rules { bucket_limit: 1, creation_limit: 2, idle_timeout: Some(2), ..target };
    let mut dice = Dice(77);
    let mut kinds = std::collections::HashSet::new();
    for round in 0..100 {
        let rules = Rules { creates_apart: round % 2 == 0, ..rules };
        let mut world = World::new(rules, 3);
        for _ in 0..200 {
            let choice = dice.choose(&world);
            kinds.insert(mem::discriminant(&choice));
            world.apply(choice);
        }
    }
    assert_eq!(kinds.len(), 28, "every variant of `Choice`");
}
