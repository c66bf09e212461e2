//! The scheduler alone, driven through long random histories, with every invariant checked after
//! every event.

mod invariants;
mod world;

use self::world::{Choice, World};
use super::{Rules, Sharing};

const STEPS: usize = 80;
const HISTORIES: u64 = 100;

/// A small generator, so that a failing history can be repeated from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn explore(rules: Rules, classes: u32) {
    for seed in 1..=HISTORIES {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new(rules, classes);
        let mut history = Vec::new();
        for _ in 0..STEPS {
            let choices = world.choices();
            let choice = choices[dice.roll(choices.len())];
            history.push(choice);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                world.apply(choice);
                world.check();
            }));
            assert!(result.is_ok(), "{rules:?} seed {seed}: {history:?}\n{world:#?}");
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.wind_up()));
        assert!(result.is_ok(), "{rules:?} seed {seed}, winding up: {history:?}\n{world:#?}");
    }
}

fn rules(sharing: Sharing) -> Rules {
    Rules::unlimited(sharing)
}

#[test]
fn the_sole_bucket_keeps_every_invariant() {
    for bucket_limit in [1, 2, 3] {
        for (bucket_idle_limit, creation_limit) in
            [(usize::MAX, usize::MAX), (0, usize::MAX), (1, 1), (usize::MAX, 1)]
        {
            let limits =
                Rules { bucket_limit, bucket_idle_limit, creation_limit, ..rules(Sharing::Sole) };
            explore(limits, 1);
            explore(Rules { idle_timeout: Some(10), ..limits }, 1);
        }
    }
}

#[test]
fn buckets_apart_keep_every_invariant() {
    for bucket_limit in [1, 2] {
        let limits = Rules { bucket_limit, ..rules(Sharing::Apart) };
        explore(limits, 3);
        explore(Rules { bucket_idle_limit: 1, idle_timeout: Some(10), ..limits }, 3);
        explore(Rules { creation_limit: 1, ..limits }, 2);
    }
}

#[test]
fn buckets_with_a_target_keep_every_invariant() {
    for target in [1, 2, 3] {
        let limits = rules(Sharing::Target(target));
        for classes in [2, 3] {
            explore(limits, classes);
            explore(Rules { bucket_limit: 1, ..limits }, classes);
            explore(Rules { bucket_limit: 2, idle_timeout: Some(10), ..limits }, classes);
            explore(Rules { creation_limit: 1, ..limits }, classes);
            explore(Rules { creation_limit: 2, bucket_limit: 1, ..limits }, classes);
        }
    }
}

/// A history must be able to reach what the rules are about, or its invariants prove nothing.
#[test]
fn every_kind_of_event_happens() {
    let mut world =
        World::new(Rules { bucket_limit: 1, creation_limit: 2, ..rules(Sharing::Target(2)) }, 3);
    let mut dice = Dice(77);
    let mut kinds = std::collections::HashSet::new();
    for _ in 0..20_000 {
        let choices = world.choices();
        let choice = choices[dice.roll(choices.len())];
        kinds.insert(std::mem::discriminant(&choice));
        world.apply(choice);
    }
    assert_eq!(kinds.len(), Choice::KINDS);
}
