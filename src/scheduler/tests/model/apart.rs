//! Creations that go on apart from requests.

use super::{From, Model, Request};
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::world::{Unit, Wanted};

pub(super) struct Creation {
    pub(super) by: Option<usize>,
    wanted: Wanted,
    /// The class in which it goes on, as far as is known.
    expected: Wanted,
    pub(super) era: u64,
}

impl Creation {
    pub(super) fn spare(wanted: Wanted, era: u64) -> Self {
        Self { by: None, wanted, expected: wanted, era }
    }
}

impl Model {
    pub(super) fn begin_apart(&mut self, number: usize) {
        let (by, era) = (Some(number), self.era);
        let Request { wanted, expected, .. } = *self.request(number);
        self.apart.push(Creation { by, wanted, expected, era });
        self.enter(number);
    }

    pub(super) fn created_apart(&mut self, index: usize, unit: Unit) {
        let Creation { by, wanted, expected, era } = self.apart.remove(index);
        if era < self.cleared {
            return;
        }
        if era < self.era {
            self.apart.push(Creation { by, wanted, expected, era: self.era });
        } else if wanted.is_some() || self.slots(Some(unit.class)) < self.rules.bucket_limit {
            self.put(unit, Place::Lent(self.era));
            self.worker(unit).uses = 0;
            self.give_back(unit, From::Creation);
        } else {
            self.settle_all();
            self.bounce(by, unit.class);
        }
    }

    /// Whoever began it ends with it.
    pub(super) fn fails_apart(&mut self, index: usize) {
        let by = self.apart.remove(index).by;
        self.settle_all();
        if let Some(number) = self.in_line(by, |_| true) {
            self.cancel(number);
        }
    }

    fn bounce(&mut self, by: Option<usize>, class: u32) {
        let has_nothing = |held| matches!(held, Held::Nothing | Held::MayCreate);
        if let Some(number) = self.in_line(by, has_nothing) {
            self.cancel(number);
            self.settle_all();
            self.request(number).expected = Some(class);
            self.enter(number);
        }
    }

    /// The request, if it stands in line or has not collected what it was given.
    fn in_line(&self, by: Option<usize>, is_so: impl Fn(Held) -> bool) -> Option<usize> {
        let stands = |held| !matches!(held, Held::Asks(_) | Held::Over);
        let is_it = |r: &&Request| Some(r.number) == by && stands(r.held) && is_so(r.held);
        self.requests.iter().find(is_it).map(|r| r.number)
    }

    /// How many creations go on apart in a class, or in all.
    pub(super) fn going(&self, class: Wanted) -> usize {
        self.apart.iter().filter(|it| class.is_none() || it.expected == class).count()
    }

    /// Whether more wait for what is created in this class, or in none in particular, than creations
    /// go on for.
    pub(super) fn needs_creation(&self, expected: Wanted, promises: usize) -> bool {
        let waits = |r: &&Request| r.held == Held::Nothing && r.expected == expected;
        let going = self.apart.iter().filter(|it| it.expected == expected);
        let going = going.filter(|_| self.rules.creates_apart).count();
        going + promises < self.requests.iter().filter(waits).count()
    }
}
