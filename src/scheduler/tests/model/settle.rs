//! Who is served with what is free.

use super::{Model, Request, Worker};
use crate::scheduler::Sharing;
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::world::Wanted;

impl Model {
    /// Does the next thing that is due, if there is one.
    pub(super) fn settle(&mut self) -> bool {
        // What has gone need not be retired as it comes back.
        self.retiring = self.retiring.min(self.excess(None));
        let (total, target, idle) = (self.slots(None), self.target(), self.idle(None));
        let doomed = self.doomed(None);
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
    pub(super) fn due(&self, can_make_way: bool) -> Option<usize> {
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
    pub(super) fn slots(&self, class: Wanted) -> usize {
        let is_of = |w: &&Worker| class.is_none_or(|class| class == w.unit.class);
        let workers = self.workers.iter().filter(is_of).count();
        workers + self.creations(class).filter(|request| request.held.is_creation()).count()
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
