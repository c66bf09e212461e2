//! What a request does: it looks, asks, waits and collects.

use std::mem;

use super::{From, Model, Request};
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::events::FRESH;
use crate::scheduler::tests::world::{Unit, Wanted};
use crate::scheduler::{Phase, Refusal};

impl Model {
    pub(super) fn is_open(&self) -> bool {
        self.phase() == Phase::Open
    }

    /// What a request is told while nothing is given out.
    pub(super) fn check_open(&mut self) -> bool {
        self.refused = match self.phase() {
            Phase::Open => None,
            Phase::Clearing => Some(Refusal::Clearing),
            Phase::Closed => Some(Refusal::Closed),
        };
        self.refused.is_none()
    }

    /// What a request is told that a clear has ended.
    pub(super) fn ended(&self) -> Refusal {
        if self.is_closed { Refusal::Closed } else { Refusal::Cleared }
    }

    pub(super) fn add(
        &mut self,
        number: usize,
        wanted: Wanted,
        deadline: Option<u64>,
    ) -> &mut Request {
        self.requests.push(Request {
            number,
            wanted,
            expected: wanted,
            held: Held::Nothing,
            passed: 0,
            dead: Vec::new(),
            deadline,
            tries: false,
            has_place: false,
        });
        self.request(number)
    }

    /// Looks at the newest idle worker of its own class first.
    pub(super) fn begin(&mut self, number: usize, wanted: Wanted, deadline: Option<u64>) {
        if !self.check_open() {
            return;
        }
        self.add(number, wanted, deadline).held = Held::Over;
        let own = self.fresh(wanted).last().copied();
        if !own.is_some_and(|own| self.lend(number, own)) {
            self.go_on(number);
        }
    }

    /// Asks the newest idle worker of its own class, or else the newest that fits; or waits. Only when
    /// nothing else is idle are the dead ones destroyed.
    pub(super) fn go_on(&mut self, number: usize) {
        if self.request(number).tries {
            return self.attempt(number);
        }
        let is_cleared = self.request(number).dead.clone().into_iter().any(|unit| {
            let place = self.worker(unit).place;
            matches!(place, Place::Lent(era) if era < self.cleared)
        });
        if !is_cleared && self.asks(number) {
            return;
        }
        self.time_out();
        self.destroy_dead(number);
        if is_cleared {
            self.refused = Some(self.ended());
            self.end(number);
        } else if !self.asks(number) {
            self.wait(number);
        }
    }

    /// Takes what is idle, or goes to the line.
    pub(super) fn enter(&mut self, number: usize) {
        self.time_out();
        if self.asks(number) {
            return;
        }
        if self.request(number).dead.is_empty() { self.wait(number) } else { self.go_on(number) }
    }

    pub(super) fn cancel(&mut self, number: usize) {
        self.time_out();
        if let Held::Handed(unit) = self.end(number) {
            self.give_back(unit, From::Use);
        }
    }

    pub(super) fn wait(&mut self, number: usize) {
        let is_newcomer = !mem::replace(&mut self.request(number).has_place, true);
        let wanted = self.request(number).wanted;
        (self.request(number).held, self.request(number).passed) = (Held::Nothing, 0);
        // Whoever needs the slot of an idle worker gets one that has to go anyway.
        while self.settle() {}
        let room = self.expire(wanted);

        let scope = if self.shares() { None } else { wanted };
        let waits = |r: &&Request| {
            r.held == Held::Nothing && r.number != number && scope.is_none_or(|_| r.wanted == scope)
        };
        let going = if self.rules.creates_apart { self.going(scope) } else { 0 };
        let waiting = (1 + self.requests.iter().filter(waits).count()).saturating_sub(going);
        let gets_nothing = self
            .requests
            .iter()
            .any(|r| r.number == number && r.held == Held::Nothing && !self.has_promise(r));
        if is_newcomer && gets_nothing && waiting > self.rules.waiting_limit.saturating_add(room) {
            self.refused = Some(Refusal::Full { waiting: waiting - 1 });
            self.end(number);
        }
    }

    pub(super) fn asks(&mut self, number: usize) -> bool {
        while let Some(found) = self.find(number) {
            if self.lend(number, found) {
                return true;
            }
        }
        false
    }

    pub(super) fn find(&mut self, number: usize) -> Option<Unit> {
        let wanted = self.request(number).wanted;
        let fitting = || self.fresh(None).into_iter().rfind(|unit| self.fits(*unit, wanted));
        self.fresh(wanted).last().copied().or_else(fitting)
    }

    /// Idle workers of a class that have not expired.
    pub(super) fn fresh(&self, class: Wanted) -> Vec<Unit> {
        self.idle(class).into_iter().filter(|unit| !self.has_expired(*unit)).collect()
    }

    /// One that is too old is put aside, without being asked.
    pub(super) fn lend(&mut self, number: usize, unit: Unit) -> bool {
        self.put(unit, Place::Lent(self.era));
        self.worker(unit).uses += 1;
        self.request(number).has_place = true;
        self.expire(Some(unit.class));
        if self.is_old(unit) {
            // Until the request destroys it, it is missed in the reserve.
            self.wake_keeper();
            self.request(number).dead.push(unit);
            return false;
        }
        self.request(number).held = Held::Asks(unit);
        true
    }

    /// Takes what a request would find first, if that has been idle for a short time only.
    pub(super) fn attempt(&mut self, number: usize) {
        while self.check_open() {
            let found = self.find(number);
            let is_fresh = |model: &mut Self, unit| model.now - model.worker(unit).since < FRESH;
            let Some(found) = found.filter(|&unit| is_fresh(self, unit)) else { break };
            if self.lend(number, found) {
                return;
            }
        }
        self.destroy_dead(number);
        self.end(number);
    }

    pub(super) fn destroy_dead(&mut self, number: usize) {
        if !self.request(number).dead.is_empty() {
            self.time_out();
        }
        for unit in mem::take(&mut self.request(number).dead) {
            self.take(unit);
        }
    }

    pub(super) fn collect(&mut self, number: usize) {
        match self.end(number) {
            Held::MayCreate if self.rules.creates_apart => self.begin_apart(number),
            Held::MayCreate => self.request(number).held = Held::Creates(self.era),
            Held::Handed(unit) if self.is_of_now(unit) => self.worker(unit).uses += 1,
            Held::Handed(unit) => {
                self.request(number).dead.push(unit);
                self.go_on(number);
            }
            Held::Refused(refusal) => self.refused = Some(refusal),
            _ => {}
        }
    }

    /// Ends the requests in line whose time has come, one after the other.
    pub(super) fn time_out(&mut self) {
        let is_late = |r: &&mut Request| r.held == Held::Nothing && r.deadline <= Some(self.now);
        let has_deadline = |r: &&mut Request| r.deadline.is_some();
        let late = self.requests.iter_mut().filter(is_late).filter(has_deadline);
        if let Some(late) = late.min_by_key(|request| request.deadline) {
            late.held = Held::Refused(Refusal::TimedOut);
            while self.settle() {}
            self.wake_keeper();
            self.time_out();
        }
    }
}
