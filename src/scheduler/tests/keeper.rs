//! The keeper's part: it rests until its bell rings, and creates what nobody has asked for.

use super::apart::Creation;
use super::world::{Bell, Wanted, World};
use crate::scheduler::{Effects, Sharing, Slot};

/// Until there are so many, workers are created before anybody asks.
pub(super) const SPARES: usize = 2;

impl World {
    pub(super) fn keeper_rests(&mut self, creates: bool) {
        _ = self.scheduler.wake_keeper();
        let due = self.scheduler.rest(Bell::Keeper, creates);
        // What is lacking already is not waited for.
        let is_late = creates && self.is_lacking();
        assert_eq!(due, if is_late { Some(0) } else { self.next_due() });
        self.keeper = (!is_late).then(|| (due.unwrap_or(u64::MAX), creates));
    }

    pub(super) fn open_reserve(&mut self) {
        let is_lacking = self.is_lacking();
        let slot = self.scheduler.open_reserve();
        assert_eq!(slot.is_some(), is_lacking);
        if let Some(slot) = slot {
            self.begin_spare(self.sole(), slot);
        }
    }

    pub(super) fn open_spare(&mut self, wanted: Wanted) {
        let (none, mut effects) = (None, Effects::default());
        let wish = self.wish(&wanted, &none);
        let slot =
            self.with(&mut effects, |books, _| books.open_spare(wish, SPARES, &mut { wanted }));
        self.carry_out(effects);
        match slot {
            Err(refusal) => self.refuse(refusal),
            Ok(slot) => slot.into_iter().for_each(|slot| self.begin_spare(wanted, slot)),
        }
    }

    fn begin_spare(&mut self, wanted: Wanted, slot: Slot) {
        let is_here = |wanted_by: Wanted| self.shares() || wanted_by == wanted;
        let mut queued = self.waiting.iter().filter(|request| !request.is_rung);
        assert!(!queued.any(|request| is_here(request.wanted)), "a waiter was passed");
        let slots = match slot.bucket {
            Some(id) if !self.shares() => self.scheduler.buckets[id].slots,
            _ => self.scheduler.slots,
        };
        assert!(slots <= self.limit(), "the limit");
        self.apart.push(Creation { by: None, wanted, slot });
    }

    /// What a worker in reserve is for.
    pub(super) fn sole(&self) -> Wanted {
        (self.rules.sharing == Sharing::Sole).then_some(0)
    }

    /// Said a second time.
    fn is_lacking(&self) -> bool {
        let scheduler = &self.scheduler;
        let is_queued = self.waiting.iter().any(|request| !request.is_rung);
        let has_room = scheduler.slots < self.limit();
        let may_start = scheduler.creating < self.rules.creation_limit;
        let may_rest = match self.rules.sharing {
            Sharing::Sole => scheduler.idle < self.rules.bucket_idle_limit,
            Sharing::Apart => self.rules.bucket_idle_limit > 0,
            Sharing::Target(_) => true,
        };
        let is_free = scheduler.shut.is_none() && !is_queued;
        let idle = scheduler.idle + self.taken.len();
        idle < self.rules.reserve && is_free && has_room && may_start && may_rest
    }

    fn next_due(&self) -> Option<u64> {
        let ends = self.idle().into_iter().filter_map(|idle| {
            let expiry = self.rules.idle_timeout.map(|timeout| idle.since + timeout);
            let born = self.record(idle.record).map(|record| record.born);
            let end = born.zip(self.span).map(|(born, span)| born + span);
            [expiry, end].into_iter().flatten().min()
        });
        ends.min()
    }

    /// While the keeper rests, there is nothing to do for it.
    pub(super) fn check_keeper(&self) {
        assert_eq!(self.scheduler.keeper.is_some(), self.keeper.is_some());
        let Some((alarm, creates)) = self.keeper else { return };
        assert!(self.next_due().is_none_or(|due| due >= alarm), "something is due");
        assert!(!creates || !self.is_lacking(), "something is lacking");
    }
}
