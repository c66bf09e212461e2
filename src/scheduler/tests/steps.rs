//! Histories that are told step by step.

use super::choices::Choice::{self, Collect, CreatedApart, CreatedAs, Request};
use super::world::World;
use crate::scheduler::{Rules, Sharing};

const CLASSES: u32 = 9;

pub(super) fn target(target: usize) -> Rules {
    Rules::unlimited(Sharing::Target(target))
}

impl World {
    /// A world in which a worker of each of these classes is borrowed, in this order.
    pub(super) fn with_borrowed(rules: Rules, classes: &[u32]) -> Self {
        let mut world = Self::new(rules, CLASSES);
        for &class in classes {
            world.then(Request(Some(class)));
            world.create(class);
        }
        world
    }

    pub(super) fn then(&mut self, choice: Choice) {
        self.apply(choice);
        self.check();
    }

    /// The request that may create does so.
    pub(super) fn create(&mut self, class: u32) {
        let granted = self.waiting.iter().position(|request| request.is_rung);
        self.then(Collect(granted.expect("a request may create")));
        if self.rules.creates_apart {
            self.then(CreatedApart(0, class));
            let served = self.waiting.iter().position(|request| request.is_rung);
            return self.then(Collect(served.expect("a request is handed the new worker")));
        }
        self.then(CreatedAs(0, class));
    }
}
