//! What is done when nobody asks for anything.

use super::apart::Creation;
use super::{Model, Request, Worker};
use crate::scheduler::Sharing;
use crate::scheduler::tests::comparison::{Held, Place};
use crate::scheduler::tests::keeper::SPARES;
use crate::scheduler::tests::world::Wanted;

impl Model {
    pub(super) fn keeper_rests(&mut self, creates: bool) {
        self.keeper = Some((self.next_due(), creates));
    }

    /// If there is something to do for it.
    pub(super) fn wake_keeper(&mut self) {
        let (next_due, is_lacking) = (self.next_due(), self.is_lacking());
        self.keeper =
            self.keeper.filter(|&(alarm, creates)| next_due >= alarm && !(creates && is_lacking));
    }

    pub(super) fn open_reserve(&mut self) {
        if self.is_lacking() {
            let wanted = (self.rules.sharing == Sharing::Sole).then_some(0);
            self.apart.push(Creation::spare(wanted, self.era));
        }
    }

    pub(super) fn open_spare(&mut self, wanted: Wanted) {
        if self.check_open() && self.slots(wanted) < SPARES && self.has_room(wanted) {
            self.apart.push(Creation::spare(wanted, self.era));
        }
    }

    fn is_lacking(&self) -> bool {
        self.idle(None).len() < self.rules.reserve && self.has_room(None)
    }

    /// Whether nobody waits, and nothing is full.
    fn has_room(&self, class: Wanted) -> bool {
        let waits = |r: &Request| r.held == Held::Nothing && (class.is_none() || r.wanted == class);
        let limit = if self.shares() { self.target() } else { self.rules.bucket_limit };
        // A bucket that is not there yet keeps nothing.
        let is_one = class.is_some() || self.rules.sharing == Sharing::Sole;
        let kept = if is_one { self.idle(class).len() } else { 0 };
        let creations = self.creations(class).filter(|request| request.held.is_creation()).count();
        self.is_open()
            && !self.requests.iter().any(waits)
            && (self.shares() || kept < self.rules.bucket_idle_limit)
            && self.slots(class) < limit
            && creations + self.going(class) < self.rules.creation_limit
    }

    /// When the first idle worker expires, or is too old.
    fn next_due(&self) -> u64 {
        let timeout = self.rules.idle_timeout.unwrap_or(u64::MAX);
        let due = |worker: &Worker| match worker.place {
            Place::Idle(since) => worker.end.unwrap_or(u64::MAX).min(since.saturating_add(timeout)),
            _ => u64::MAX,
        };
        self.workers.iter().map(due).min().unwrap_or(u64::MAX)
    }
}
