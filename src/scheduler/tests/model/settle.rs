//! Who is served with what is free.

use super::{Model, Request, Worker};
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::world::Wanted;
use crate::scheduler::{Rules, Sharing};

impl Model {
    pub(super) fn settle_all(&mut self) {
        while self.settle() {}
        self.void_promises();
        self.wake_keeper();
    }

    /// Does the next thing that is due, if there is one.
    pub(super) fn settle(&mut self) -> bool {
        // What has gone need not be retired as it comes back.
        self.retiring = self.retiring.min(self.excess(None));
        let (total, target, idle) = (self.slots(None), self.target(), self.idle(None));
        let doomed = self.doomed(None);
        let creates_first = self.rules.creates_first;
        let to_come = if creates_first { self.creating() } else { 0 };
        let has_surplus = total - doomed - to_come > target;
        match (self.due(false), idle.first()) {
            // A worker whose replacement stands is no victim for another.
            (_, Some(&oldest)) if creates_first && has_surplus => {
                self.put(oldest, Place::Doomed(None));
            }
            (Some(due), Some(&oldest)) if total >= target && !creates_first => {
                self.put(oldest, Place::Doomed(Some(self.requests[due].number)));
            }
            (Some(due), _) => self.requests[due].held = Held::MayCreate,
            (_, Some(&oldest)) if has_surplus => self.put(oldest, Place::Doomed(None)),
            _ => return false,
        }
        true
    }

    /// The oldest request that may create, now or when a worker has made way for it: an idle one, or
    /// one that comes back.
    pub(super) fn due(&self, comes_back: bool) -> Option<usize> {
        let (total, target, limit) = (self.slots(None), self.target(), self.rules.bucket_limit);
        let (room, has_right) = self.rights(comes_back);
        self.requests.iter().position(|request| {
            let scope = if self.shares() { None } else { request.wanted };
            let counts = |r: &&Request| total >= target || r.held.is_creation();
            let may_start = self.creations(scope).filter(counts).count() + self.going(scope)
                < self.rules.creation_limit;
            let promises = self.promises(request.wanted);
            let claims = self.slots(request.wanted) + promises;
            let may_have_slot = match total < target {
                true => request.expected.is_none() || self.slots(request.expected) < limit,
                false => {
                    let has_right = has_right && request.wanted.is_some();
                    has_right && claims < room && !self.has_promise(request)
                }
            };
            let promised = if total < target { 0 } else { promises };
            let is_needed = self.needs_creation(request.expected, promised);
            request.held == Held::Nothing && may_start && may_have_slot && is_needed
        })
    }

    /// What may be at or above the target: how many of a class, if any.
    fn rights(&self, comes_back: bool) -> (usize, bool) {
        let Rules { bucket_limit, creates_first, overshoot_limit, .. } = self.rules;
        let above = self.slots(None).saturating_sub(self.target());
        let idle = self.idle(None).len();
        // Whoever stays until there is a replacement.
        let standing = if creates_first { idle } else { 0 };
        let has_victim = comes_back || !creates_first && idle > 0;
        if above < standing || above == standing && has_victim {
            return (bucket_limit, true);
        }
        (1, above - standing < overshoot_limit.saturating_add(usize::from(has_victim)))
    }

    /// How many slots there are above the target and the idle workers that stay until there is one in
    /// their place.
    pub(super) fn overshoot(&self) -> Option<usize> {
        let standing = if self.rules.creates_first { self.idle(None).len() } else { 0 };
        self.slots(None).checked_sub(self.target())?.checked_sub(standing)
    }

    /// How many create, or may.
    pub(super) fn creating(&self) -> usize {
        let creations = self.creations(None).filter(|request| request.held.is_creation());
        creations.count() + self.going(None)
    }

    /// How many of a class, or of all, have a promise.
    pub(super) fn promises(&self, class: Wanted) -> usize {
        self.creations(class).filter(|r| self.has_promise(r)).count()
    }

    /// Slots of a class, or of all.
    pub(super) fn slots(&self, class: Wanted) -> usize {
        let is_of = |w: &&Worker| class.is_none_or(|class| class == w.unit.class);
        let workers = self.workers.iter().filter(is_of).count();
        let creations = self.creations(class).filter(|request| request.held.is_creation());
        workers + creations.count() + self.going(class)
    }

    /// Workers of a class, or of all, that are being destroyed.
    pub(super) fn doomed(&self, class: Wanted) -> usize {
        let is_of = |w: &&Worker| class.is_none_or(|class| class == w.unit.class);
        let is_doomed = |w: &&Worker| matches!(w.place, Place::Doomed(_));
        self.workers.iter().filter(is_of).filter(is_doomed).count()
    }

    /// Those that create, may create, or have the promise that they may.
    pub(super) fn creations(&self, class: Wanted) -> impl Iterator<Item = &Request> {
        let is_one = |r: &&Request| r.held.is_creation() || self.has_promise(r);
        let is_of = move |r: &&Request| class.is_none() || class == r.expected;
        self.requests.iter().filter(is_one).filter(is_of)
    }

    /// Whether a worker is being destroyed so that this request can create.
    pub(super) fn has_promise(&self, request: &Request) -> bool {
        let is_heir = |place| place == Place::Doomed(Some(request.number));
        request.held == Held::Nothing && self.workers.iter().any(|w| is_heir(w.place))
    }

    /// Whoever has been served otherwise is not promised anything any more.
    pub(super) fn void_promises(&mut self) {
        let waits =
            |heir| self.requests.iter().any(|r| r.number == heir && r.held == Held::Nothing);
        for worker in &mut self.workers {
            if let Place::Doomed(heir) = &mut worker.place {
                *heir = heir.filter(|heir| waits(*heir));
            }
        }
    }

    pub(super) fn target(&self) -> usize {
        if let Sharing::Target(target) = self.rules.sharing { target } else { usize::MAX }
    }

    pub(super) fn shares(&self) -> bool {
        self.target() < usize::MAX
    }
}
