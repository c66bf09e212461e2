//! Histories in which a request once paid twice, or waited beside what it had been promised.

use super::world::Choice::{self, Collect, CreatedAs, Destroyed, Request, Return, ReturnDead};
use super::world::World;
use crate::scheduler::{Rules, Sharing};

const CLASSES: u32 = 9;

fn target(target: usize) -> Rules {
    Rules::unlimited(Sharing::Target(target))
}

impl World {
    /// A world in which a worker of each of these classes is borrowed, in this order.
    fn with_borrowed(rules: Rules, classes: &[u32]) -> Self {
        let mut world = Self::new(rules, CLASSES);
        for &class in classes {
            world.then(Request(Some(class)));
            world.create(class);
        }
        world
    }

    fn then(&mut self, choice: Choice) {
        self.apply(choice);
        self.check();
    }

    /// The request that may create does so.
    fn create(&mut self, class: u32) {
        let granted = self.waiting.iter().position(|request| request.is_rung);
        self.then(Collect(granted.expect("a request may create")));
        self.then(CreatedAs(0, class));
    }

    /// How many workers are being destroyed for the oldest request that waits.
    fn victims(&self) -> usize {
        let oldest = self.waiting[0].ticket;
        self.doomed
            .iter()
            .filter(|doomed| doomed.heir.is_some_and(|heir| heir.ticket == oldest))
            .count()
    }

    fn oldest_may_create(&self) -> bool {
        self.waiting[0].is_rung
    }
}

#[test]
fn one_request_costs_one_victim_while_another_destructor_is_under_way() {
    let mut world = World::with_borrowed(target(2), &[1, 3, 4]);
    world.then(Return(0));
    assert_eq!(world.doomed.len(), 1, "the first beyond the target");
    world.then(Return(0));
    world.then(Request(Some(6)));
    assert_eq!((world.doomed.len(), world.victims()), (2, 1));
    world.then(Return(0));

    world.then(Destroyed(1));
    assert_eq!((world.oldest_may_create(), world.victims()), (true, 0));
    assert_eq!(world.scheduler.counts().idle, 1);
}

#[test]
fn a_promised_slot_is_kept_although_a_younger_request_has_exceeded_the_target() {
    let mut world = World::with_borrowed(target(2), &[1, 3]);
    world.then(Return(1));
    world.then(Request(Some(1)));
    assert_eq!(world.victims(), 1);
    world.then(Request(Some(6)));
    world.create(6);

    world.then(Destroyed(0));
    assert!(world.oldest_may_create());
    world.then(Return(1));
    assert_eq!(world.victims(), 0);
}

#[test]
fn a_promise_does_not_stand_in_the_way_of_its_own_request() {
    let rules = Rules { creation_limit: 1, ..target(3) };
    let mut world = World::with_borrowed(rules, &[1, 3, 3]);
    world.then(Request(Some(1)));
    world.then(Return(1));
    assert_eq!(world.victims(), 1);

    world.then(ReturnDead(1));
    assert!(world.oldest_may_create());
}
