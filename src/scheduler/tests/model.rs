//! The rules once more, to be compared with the scheduler: plain vectors, linear scans, no index.

use std::mem;

use super::comparison::{Held, Place, Snapshot, Step};
use super::world::{Unit, Wanted, can_serve};
use crate::scheduler::{Rules, Sharing};

struct Request {
    number: usize,
    wanted: Wanted,
    /// The class in which it would create, as far as is known.
    expected: Wanted,
    held: Held,
    passed: u32,
    /// Workers in vain, not destroyed yet.
    dead: Vec<Unit>,
}

pub(super) struct Model {
    rules: Rules,
    /// In the order of their first poll.
    requests: Vec<Request>,
    /// In the order in which they came to their places.
    workers: Vec<(Unit, Place)>,
    /// Clears that wait for the last slot.
    clears: usize,
    /// Clears that have been told, and keep the pool closed still.
    told: usize,
    /// Clears begun.
    era: u64,
    now: u64,
}

impl Model {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            requests: Vec::new(),
            workers: Vec::new(),
            clears: 0,
            told: 0,
            era: 0,
            now: 0,
        }
    }

    pub(super) fn apply(&mut self, step: Step) {
        match step {
            Step::Request(..) if self.is_clearing() => {}
            Step::Request(number, wanted) => {
                let held = Held::Nothing;
                let dead = Vec::new();
                let expected = wanted;
                self.requests.push(Request { number, wanted, expected, held, passed: 0, dead });
                self.enter(number);
            }
            Step::IsWell(number) => {
                self.end(number);
                self.destroy_dead(number);
            }
            Step::CreationFails(number) => _ = self.end(number),
            Step::IsDead(number, unit) => self.go_on(number, unit),
            Step::Collect(number) => {
                if self.end(number) == Held::MayCreate {
                    self.request(number).held = Held::Creates(self.era);
                }
            }
            Step::Cancel(number) => {
                if let Held::Handed(unit) = self.end(number) {
                    self.give_back(unit);
                }
            }
            Step::Created(number, unit) => self.created(number, unit),
            Step::Return(unit) => self.give_back(unit),
            Step::ReturnDead(unit) => _ = self.take(unit),
            Step::Destroyed(unit) => self.destroyed(unit),
            Step::Expire => self.expire(None),
            Step::TimePasses => self.now += 1,
            Step::Clear => self.clear(),
            Step::AbandonClear => self.clears -= 1,
            Step::EndClear => self.told -= 1,
        }
        self.requests.retain(|request| request.held != Held::Over);
        while self.settle() {}
        if self.slots(None) == 0 {
            self.told += mem::take(&mut self.clears);
        }
    }

    fn is_clearing(&self) -> bool {
        self.clears + self.told > 0
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let held = |r: &Request| if self.has_promise(r) { Held::Promise } else { r.held };
        let requests = self.requests.iter().map(|r| (r.number, held(r))).collect();
        let (is_clearing, total) = (self.is_clearing(), self.slots(None));
        Snapshot::new(&self.rules, is_clearing, total, requests, self.workers.clone())
    }

    /// Asks the newest idle worker of its own class, or else the newest that fits; or waits.
    fn enter(&mut self, number: usize) {
        let wanted = self.request(number).wanted;
        if !self.asks(number) {
            self.request(number).held = Held::Nothing;
            // Whoever needs the slot of an idle worker gets one that has to go anyway.
            while self.settle() {}
            self.expire(wanted);
        }
    }

    fn asks(&mut self, number: usize) -> bool {
        let wanted = self.request(number).wanted;
        let fresh = |class| self.idle(class).into_iter().filter(|unit| !self.has_expired(*unit));
        let fitting = || fresh(None).rfind(|unit| self.fits(*unit, wanted));
        let Some(found) = fresh(wanted).next_back().or_else(fitting) else { return false };
        self.request(number).held = Held::Asks(found);
        self.put(found, Place::Lent(self.era));
        self.expire(Some(found.class));
        true
    }

    /// A worker was in vain. Only when nothing else is idle are the dead ones destroyed.
    fn go_on(&mut self, number: usize, unit: Unit) {
        self.request(number).dead.push(unit);
        let is_of_now = self.workers.contains(&(unit, Place::Lent(self.era)));
        if is_of_now && self.asks(number) {
            return;
        }
        self.destroy_dead(number);
        match is_of_now {
            true => self.enter(number),
            false => _ = self.end(number),
        }
    }

    fn destroy_dead(&mut self, number: usize) {
        for unit in std::mem::take(&mut self.request(number).dead) {
            self.take(unit);
        }
    }

    /// If there is no slot below the target, that of a worker which made way is for whose way it
    /// made: the oldest of that class.
    fn destroyed(&mut self, unit: Unit) {
        let Some(Place::Doomed(Some(heir))) = self.take(unit) else { return };
        let waits = |r: &&Request| r.held == Held::Nothing && r.number == heir;
        let Some(wanted) = self.requests.iter().find(waits).map(|heir| heir.wanted) else { return };
        let creations = self.creations(None).filter(|r| r.held.is_creation()).count();
        let may_start = creations < self.rules.creation_limit;
        if may_start
            && self.slots(None) >= self.target()
            && self.slots(wanted) < self.rules.bucket_limit
        {
            let is_kin = |r: &&mut Request| r.held == Held::Nothing && r.wanted == wanted;
            let oldest = self.requests.iter_mut().find(is_kin);
            oldest.into_iter().for_each(|oldest| oldest.held = Held::MayCreate);
        }
    }

    fn created(&mut self, number: usize, unit: Unit) {
        let is_of_now = self.end(number) == Held::Creates(self.era);
        if is_of_now && self.slots(Some(unit.class)) < self.rules.bucket_limit {
            self.put(unit, Place::Lent(self.era));
        } else if is_of_now {
            self.request(number).expected = Some(unit.class);
            self.enter(number);
        }
    }

    fn give_back(&mut self, unit: Unit) {
        let fits = |r: &Request| r.held == Held::Nothing && self.fits(unit, r.wanted);
        let to = self.requests.iter().position(fits);
        let past = self.due(true).filter(|&past| to.is_some_and(|to| past < to));
        let is_of_now = self.workers.contains(&(unit, Place::Lent(self.era)));
        match (to, past) {
            _ if !is_of_now => self.put(unit, Place::Doomed(None)),
            (None, _) => self.put(unit, Place::Idle(self.now)),
            (_, Some(past)) if self.requests[past].passed >= self.rules.max_passes => {
                self.put(unit, Place::Doomed(Some(self.requests[past].number)));
            }
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

    fn clear(&mut self) {
        self.clears += 1;
        self.era += 1;
        for (unit, place) in &mut self.workers {
            let is_handed = self.requests.iter().any(|r| r.held == Held::Handed(*unit));
            if is_handed || matches!(place, Place::Idle(_)) {
                *place = Place::Doomed(None);
            }
        }
        let goes_on = |held| matches!(held, Held::Asks(_) | Held::Creates(_));
        for request in self.requests.iter_mut().filter(|request| !goes_on(request.held)) {
            request.held = Held::Cleared;
        }
    }

    fn expire(&mut self, wanted: Wanted) {
        for unit in self.idle(if self.shares() { None } else { wanted }) {
            if self.has_expired(unit) {
                self.put(unit, Place::Doomed(None));
            }
        }
    }

    /// Does the next thing that is due, if there is one.
    fn settle(&mut self) -> bool {
        let (total, target, idle) = (self.slots(None), self.target(), self.idle(None));
        let doomed = self.workers.iter().filter(|w| matches!(w.1, Place::Doomed(_))).count();
        match (self.due(!idle.is_empty()), idle.first()) {
            (Some(due), Some(&oldest)) if total >= target => {
                self.put(oldest, Place::Doomed(Some(self.requests[due].number)));
            }
            (Some(due), _) => self.requests[due].held = Held::MayCreate,
            (_, Some(&oldest)) if total - doomed > target => self.put(oldest, Place::Doomed(None)),
            _ => return false,
        }
        true
    }

    /// The oldest request that may create, now or when a worker has made way for it.
    fn due(&self, can_make_way: bool) -> Option<usize> {
        let (total, target, limit) = (self.slots(None), self.target(), self.rules.bucket_limit);
        let room = if can_make_way && total == target { limit } else { 1 };
        self.requests.iter().position(|request| {
            let scope = if self.shares() { None } else { request.wanted };
            let counts = |r: &&Request| total >= target || r.held.is_creation();
            let may_start =
                self.creations(scope).filter(counts).count() < self.rules.creation_limit;
            let promises = self.creations(request.wanted).filter(|r| self.has_promise(r)).count();
            let claims = self.slots(request.wanted) + promises;
            let may_have_slot = match total < target {
                true => request.expected.is_none() || self.slots(request.expected) < limit,
                false => request.wanted.is_some() && claims < room && !self.has_promise(request),
            };
            request.held == Held::Nothing && may_start && may_have_slot
        })
    }

    /// Slots of a class, or of all.
    fn slots(&self, class: Wanted) -> usize {
        let is_of = |unit: Unit| class.is_none_or(|class| class == unit.class);
        let workers = self.workers.iter().filter(|worker| is_of(worker.0)).count();
        workers + self.creations(class).filter(|request| request.held.is_creation()).count()
    }

    /// Those that create, may create, or have the promise that they may.
    fn creations(&self, class: Wanted) -> impl Iterator<Item = &Request> {
        let is_one = |r: &&Request| r.held.is_creation() || self.has_promise(r);
        let is_of = move |r: &&Request| class.is_none() || class == r.expected;
        self.requests.iter().filter(is_one).filter(is_of)
    }

    /// Whether a worker is being destroyed so that this request can create.
    fn has_promise(&self, request: &Request) -> bool {
        let is_heir = |place| place == Place::Doomed(Some(request.number));
        request.held == Held::Nothing && self.workers.iter().any(|worker| is_heir(worker.1))
    }

    fn target(&self) -> usize {
        if let Sharing::Target(target) = self.rules.sharing { target } else { usize::MAX }
    }

    fn shares(&self) -> bool {
        self.target() < usize::MAX
    }

    fn fits(&self, unit: Unit, wanted: Wanted) -> bool {
        wanted.is_none_or(|class| class == unit.class || self.shares() && can_serve(&unit, class))
    }

    fn idle(&self, class: Wanted) -> Vec<Unit> {
        let idle = self.workers.iter().filter(|worker| matches!(worker.1, Place::Idle(_)));
        let idle = idle.map(|worker| worker.0);
        idle.filter(|unit| class.is_none_or(|class| class == unit.class)).collect()
    }

    fn has_expired(&self, unit: Unit) -> bool {
        let timeout = self.rules.idle_timeout.unwrap_or(u64::MAX);
        let is_due = |place| matches!(place, Place::Idle(since) if self.now - since >= timeout);
        self.workers.iter().any(|worker| worker.0 == unit && is_due(worker.1))
    }

    fn put(&mut self, unit: Unit, place: Place) {
        self.take(unit);
        self.workers.push((unit, place));
    }

    fn take(&mut self, unit: Unit) -> Option<Place> {
        let index = self.workers.iter().position(|worker| worker.0 == unit)?;
        Some(self.workers.remove(index).1)
    }

    fn request(&mut self, number: usize) -> &mut Request {
        self.requests.iter_mut().find(|r| r.number == number).expect("a request under way")
    }

    fn end(&mut self, number: usize) -> Held {
        std::mem::replace(&mut self.request(number).held, Held::Over)
    }
}
