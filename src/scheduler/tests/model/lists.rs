//! Looking things up in the lists.

use std::mem;

use super::{Model, Request, Worker};
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::world::{Unit, Wanted, can_serve};

impl Model {
    pub(super) fn fits(&self, unit: Unit, wanted: Wanted) -> bool {
        wanted.is_none_or(|class| class == unit.class || self.shares() && can_serve(&unit, class))
    }

    pub(super) fn idle(&self, class: Wanted) -> Vec<Unit> {
        let idle = self.workers.iter().filter(|worker| matches!(worker.place, Place::Idle(_)));
        let idle = idle.map(|worker| worker.unit);
        idle.filter(|unit| class.is_none_or(|class| class == unit.class)).collect()
    }

    pub(super) fn has_expired(&self, unit: Unit) -> bool {
        let is_due = |place| matches!(place, Place::Idle(since) if self.is_expired(since));
        self.workers.iter().any(|worker| worker.unit == unit && is_due(worker.place))
    }

    pub(super) fn is_expired(&self, since: u64) -> bool {
        self.now - since >= self.rules.idle_timeout.unwrap_or(u64::MAX)
    }

    pub(super) fn is_old(&self, unit: Unit) -> bool {
        let is_due = |end: Option<u64>| end.is_some_and(|end| end <= self.now);
        self.workers.iter().any(|worker| worker.unit == unit && is_due(worker.end))
    }

    pub(super) fn is_of_now(&self, unit: Unit) -> bool {
        let is_it = |w: &Worker| w.unit == unit && w.place == Place::Lent(self.era);
        self.workers.iter().any(is_it)
    }

    pub(super) fn put(&mut self, unit: Unit, place: Place) {
        let end = self.span.map(|span| self.now + span);
        let new = Worker { unit, place, uses: 1, end, since: 0, order: 0 };
        let worker = self.take(unit).unwrap_or(new);
        self.workers.push(Worker { place, ..worker });
    }

    pub(super) fn take(&mut self, unit: Unit) -> Option<Worker> {
        let index = self.workers.iter().position(|worker| worker.unit == unit)?;
        Some(self.workers.remove(index))
    }

    pub(super) fn worker(&mut self, unit: Unit) -> &mut Worker {
        self.workers.iter_mut().find(|worker| worker.unit == unit).expect("a worker that lives")
    }

    pub(super) fn request(&mut self, number: usize) -> &mut Request {
        self.requests.iter_mut().find(|r| r.number == number).expect("a request under way")
    }

    pub(super) fn end(&mut self, number: usize) -> Held {
        mem::replace(&mut self.request(number).held, Held::Over)
    }
}
