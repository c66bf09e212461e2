//! What becomes of workers: they are created, come back, and go.

use super::{From, Model, Request};
use crate::scheduler::Sharing;
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::world::{Unit, Wanted};

impl Model {
    /// If there is no slot below the target, that of a worker which made way is for whose way it
    /// made: the oldest of that class.
    pub(super) fn destroyed(&mut self, unit: Unit) {
        let Some(Place::Doomed(Some(heir))) = self.take(unit).map(|it| it.place) else { return };
        let waits = |r: &&Request| r.held == Held::Nothing && r.number == heir;
        let Some(wanted) = self.requests.iter().find(waits).map(|heir| heir.wanted) else { return };
        let may_start = self.creating() < self.rules.creation_limit
            && self.needs_creation(wanted, self.promises(wanted));
        if may_start
            && self.overshoot().is_some_and(|excess| excess < self.rules.overshoot_limit)
            && self.slots(wanted) < self.rules.bucket_limit
        {
            let is_kin = |r: &&mut Request| r.held == Held::Nothing && r.wanted == wanted;
            let oldest = self.requests.iter_mut().find(is_kin);
            oldest.into_iter().for_each(|oldest| oldest.held = Held::MayCreate);
        }
    }

    pub(super) fn created(&mut self, number: usize, unit: Unit) {
        let Held::Creates(era) = self.end(number) else { return };
        if era < self.cleared {
            self.refused = Some(self.ended());
        } else if era < self.era {
            self.request(number).held = Held::Creates(self.era);
        } else if self.request(number).wanted.is_some()
            || self.slots(Some(unit.class)) < self.rules.bucket_limit
        {
            self.put(unit, Place::Lent(self.era));
        } else {
            self.request(number).expected = Some(unit.class);
            self.go_on(number);
        }
    }

    pub(super) fn give_back(&mut self, unit: Unit, from: From) {
        let since = if let From::Idle(since) = from { Some(since) } else { None };
        let fits = |r: &Request| r.held == Held::Nothing && self.fits(unit, r.wanted);
        let to = self.requests.iter().position(fits);
        let past = self.due(true).filter(|&past| to.is_some_and(|to| past < to));
        let is_spent = self.is_old(unit) || self.worker(unit).uses >= self.rules.max_uses;
        let is_over = is_spent && from != From::Creation;
        let retires = self.retires(unit) && (to.is_none() || from != From::Creation);
        let has_expired = since.is_some_and(|since| self.is_expired(since));
        match (to, past) {
            _ if !self.is_of_now(unit) || is_over || retires => {
                self.put(unit, Place::Doomed(None));
            }
            (None, _) => self.rest(unit, since),
            (_, Some(past)) if self.requests[past].passed >= self.rules.max_passes => {
                self.put(unit, Place::Doomed(Some(self.requests[past].number)));
            }
            _ if has_expired => self.put(unit, Place::Doomed(None)),
            (Some(to), past) => {
                past.into_iter().for_each(|past| self.requests[past].passed += 1);
                self.requests[to].held = Held::Handed(unit);
            }
        }
        let kin = self.idle(Some(unit.class));
        if kin.len() > self.rules.bucket_idle_limit {
            self.put(kin[0], Place::Doomed(None));
        }
    }

    /// Puts a worker to the idle ones: as the newest, or where it was before.
    pub(super) fn rest(&mut self, unit: Unit, since: Option<u64>) {
        self.put(unit, Place::Idle(since.unwrap_or(self.now)));
        if since.is_none() {
            self.returns += 1;
            (self.worker(unit).since, self.worker(unit).order) = (self.now, self.returns);
        }
        // Only the order of the idle ones matters.
        self.workers.sort_by_key(|worker| worker.order);
    }

    /// How many slots there are above the limit, but for those that are being freed.
    pub(super) fn excess(&self, class: Wanted) -> usize {
        let (class, limit) = match self.rules.sharing {
            Sharing::Target(target) => (None, target),
            Sharing::Sole | Sharing::Apart => (class, self.rules.bucket_limit),
        };
        (self.slots(class) - self.doomed(class)).saturating_sub(limit)
    }

    pub(super) fn retires(&self, unit: Unit) -> bool {
        if self.shares() { self.retiring > 0 } else { self.excess(Some(unit.class)) > 0 }
    }

    pub(super) fn resize(&mut self, limit: usize) {
        if let Sharing::Target(target) = &mut self.rules.sharing {
            *target = limit;
            while self.settle() {}
            self.retiring = self.excess(None);
            return;
        }
        self.rules.bucket_limit = limit;
        for unit in self.idle(None) {
            if self.excess(Some(unit.class)) > 0 {
                self.put(unit, Place::Doomed(None));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.clears += 1;
        self.give_all_up();
        self.cleared = self.era;
        for worker in &mut self.workers {
            if self.requests.iter().any(|r| r.held == Held::Handed(worker.unit)) {
                worker.place = Place::Doomed(None);
            }
        }
        let goes_on = |held| matches!(held, Held::Asks(_) | Held::Creates(_));
        let end = self.ended();
        for request in self.requests.iter_mut().filter(|request| !goes_on(request.held)) {
            request.held = Held::Refused(end);
        }
    }

    /// What is idle goes at once; the rest is of before.
    pub(super) fn give_all_up(&mut self) {
        self.era += 1;
        for unit in self.idle(None) {
            self.put(unit, Place::Doomed(None));
        }
    }

    /// Returns how many have expired.
    pub(super) fn expire(&mut self, wanted: Wanted) -> usize {
        let mut expired = self.idle(if self.shares() { None } else { wanted });
        expired.retain(|unit| self.has_expired(*unit));
        for &unit in &expired {
            self.put(unit, Place::Doomed(None));
        }
        expired.len()
    }

    pub(super) fn expire_old(&mut self) {
        for unit in self.idle(None) {
            if self.is_old(unit) {
                self.put(unit, Place::Doomed(None));
            }
        }
    }
}
