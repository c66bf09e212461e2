//! Clearing: what is idle or queued goes at once, what is out as it comes back.

use super::waiter::WaiterState;
use super::{Effects, Refusal, Scheduler, Slot};
use crate::PoolDestroyReason::{self, Cleared};

const PARKED: &str = "what was handed to a waiter is parked";

/// A clear. It is told when the last slot has gone; until it is ended, nothing is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClearId(pub(crate) u64);

impl<K, V, B> Scheduler<K, V, B> {
    /// Begins to clear. `bell` rings when no slot is left, which may be at once.
    pub(crate) fn begin_clear(&mut self, id: ClearId, bell: B, effects: &mut Effects<K, V, B>) {
        self.retire_all(effects);
        self.clears.insert(id, Some(bell));
        self.shut = self.shut.or(Some(Refusal::Clearing));
        self.tell_clears(effects);
    }

    /// Nobody waits for this clear any more, be it because its bell has rung. Without another one the
    /// pool is open again, unless it is closed; what is still out stays of before, and is destroyed as
    /// it comes back.
    pub(crate) fn end_clear(&mut self, id: ClearId, effects: &mut Effects<K, V, B>) -> Option<B> {
        let bell = self.clears.remove(&id);
        if self.clears.is_empty() && self.shut == Some(Refusal::Clearing) {
            self.shut = None;
            self.alert(effects);
        }
        bell.flatten()
    }

    /// From now on nothing is given out, for good; says whether that is new. To be followed by a clear
    /// under the same lock.
    pub(crate) fn close(&mut self) -> bool {
        self.shut.replace(Refusal::Closed) != Some(Refusal::Closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shut == Some(Refusal::Closed)
    }

    /// Gives up every worker and every request. What is out is of an earlier generation now.
    pub(crate) fn retire_all(&mut self, effects: &mut Effects<K, V, B>) {
        self.generation += 1;
        self.cleared = self.generation;
        self.end_requests(effects);
        self.doom_all(Cleared, effects);
    }

    /// Gives up every idle worker, and the buckets that nothing else needs.
    pub(super) fn doom_all(&mut self, reason: PoolDestroyReason, effects: &mut Effects<K, V, B>) {
        for bucket in self.buckets.ids() {
            while !self.buckets[bucket].idle.is_empty() {
                self.doom(bucket, reason, None, effects);
            }
            self.sweep(bucket, effects);
        }
    }

    /// Whether the worker in this slot may be handed out.
    #[inline]
    pub(crate) fn is_current(&self, slot: &Slot) -> bool {
        slot.generation() == self.generation
    }

    /// Whether the slot is of before a clear, which has ended its request.
    pub(super) fn is_cleared(&self, slot: &Slot) -> bool {
        slot.generation() < self.cleared
    }

    /// What a request is told that a clear has ended.
    pub(super) fn ended(&self) -> Refusal {
        match self.shut {
            Some(Refusal::Closed) => Refusal::Closed,
            _ => Refusal::Cleared,
        }
    }

    fn end_requests(&mut self, effects: &mut Effects<K, V, B>) {
        let end = self.ended();
        self.deadlines.clear();
        self.waiters.forget_lines();
        if let Some(commons) = &mut self.commons {
            commons.forget_waiters();
        }
        for bucket in self.buckets.iter_mut() {
            bucket.line.clear();
            bucket.bounced.clear();
            bucket.promised = 0;
        }
        let mut given = Vec::new();
        for waiter in self.waiters.iter_mut() {
            waiter.promised = false;
            effects.ring(waiter.bell.take());
            given.push(std::mem::replace(&mut waiter.state, WaiterState::Refused(end)));
        }
        for state in given {
            match state {
                WaiterState::Handed(place) => {
                    let (value, mut slot) = self.parked.remove(place).expect(PARKED);
                    self.mark_leaving(&mut slot, Cleared);
                    effects.doom(value, slot, None);
                }
                WaiterState::Granted(mut slot) => {
                    slot.has_not_begun();
                    self.close_slot(slot);
                }
                WaiterState::Queued | WaiterState::Refused(_) => {}
            }
        }
    }

    pub(super) fn tell_clears(&mut self, effects: &mut Effects<K, V, B>) {
        if self.slots == 0 {
            effects.ring(self.clears.values_mut().filter_map(Option::take));
        }
    }
}
