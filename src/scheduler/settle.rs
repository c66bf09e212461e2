//! Who gets what has become free. After every event that frees something, [`Scheduler::settle`]
//! goes on until nobody waits beside what could serve them.

use super::waiter::WaiterState;
use super::{BucketId, Effects, Lane, Scheduler, Slot, WaiterId};

/// What is due next among buckets that share a target.
enum Due {
    /// This request may create.
    Grant(WaiterId),
    /// The least recently used idle worker makes way for this request.
    Evict(WaiterId),
}

impl<K, V, B> Scheduler<K, V, B> {
    /// Serves whoever can be served by creating: the waiters of `scope`, or all of them where the
    /// buckets share a target.
    #[inline]
    pub(super) fn settle(&mut self, scope: Option<BucketId>, effects: &mut Effects<K, V, B>) {
        if !self.is_settled(scope) {
            self.settle_all(scope, effects);
        }
        // Whoever left a line, or ended a creation, may have made room for a worker in reserve.
        self.alert(effects);
    }

    /// Whether nobody waits whom this could serve, and nothing is above the target.
    #[inline]
    fn is_settled(&self, scope: Option<BucketId>) -> bool {
        match &self.commons {
            Some(commons) => commons.heads.is_empty() && !self.has_surplus(),
            None => scope.is_none_or(|bucket| self.buckets[bucket].line.is_empty()),
        }
    }

    fn settle_all(&mut self, scope: Option<BucketId>, effects: &mut Effects<K, V, B>) {
        if self.commons.is_some() {
            if self.rules.creates_first {
                // A worker whose replacement stands is no victim for another.
                self.doom_surplus(effects);
            }
            while let Some(due) = self.due() {
                match due {
                    Due::Grant(id) => self.grant(id, effects),
                    Due::Evict(heir) => {
                        self.promise(heir);
                        self.doom_oldest(Some(heir), effects);
                    }
                }
            }
            self.doom_surplus(effects);
        } else if let Some(bucket) = scope {
            while let Some(id) = self.due_in(bucket) {
                self.grant(id, effects);
            }
        }
    }

    fn due_in(&self, bucket: BucketId) -> Option<WaiterId> {
        let bucket = &self.buckets[bucket];
        let may_create = bucket.slots < self.rules.bucket_limit
            && bucket.creating < self.rules.creation_limit
            && bucket.needs_creation();
        self.waiters.first(&bucket.line).filter(|_| may_create)
    }

    fn due(&self) -> Option<Due> {
        let commons = self.commons.as_ref()?;
        if commons.heads.is_empty() {
            return None;
        }
        if self.slots < commons.target {
            let heads = [commons.claims.first(), commons.takers.first()];
            let oldest = heads.into_iter().flatten().min().copied();
            return oldest.filter(|_| self.creating < self.rules.creation_limit).map(Due::Grant);
        }
        if !self.may_start_creation() {
            return None;
        }
        if self.overshoot().is_none() {
            // Each has a victim of its own, which goes when the new worker stands.
            return self.claimant().map(Due::Grant);
        }
        if self.idle > 0 && !self.rules.creates_first {
            return self.claimant().map(Due::Evict);
        }
        self.missing().filter(|_| self.may_exceed()).map(Due::Grant)
    }

    /// How many slots there are above the target and the idle workers that stay until there is one in
    /// their place.
    fn overshoot(&self) -> Option<usize> {
        let staying = if self.rules.creates_first { self.idle } else { 0 };
        self.slots.checked_sub(self.limit() + staying)
    }

    fn may_exceed(&self) -> bool {
        self.overshoot().is_some_and(|excess| excess < self.rules.overshoot_limit)
    }

    /// Whether the limit on creations allows one more beside those that have been promised. Where a
    /// slot is free, promises don't count: they may never come to a creation.
    fn may_start_creation(&self) -> bool {
        let promised = self.commons.as_ref().map_or(0, |commons| commons.promised);
        self.creating + promised < self.rules.creation_limit
    }

    /// The oldest request for one bucket that could create in the slot of a worker which is
    /// destroyed now, and for which none is being destroyed yet.
    pub(super) fn claimant(&self) -> Option<WaiterId> {
        let commons = self.commons.as_ref()?;
        if !self.may_start_creation() {
            return None;
        }
        if let Some(excess @ 1..) = self.overshoot() {
            // A slot that is freed vanishes, unless a bucket has nothing at all.
            return self.missing().filter(|_| excess <= self.rules.overshoot_limit);
        }
        let mut oldest: Option<WaiterId> = None;
        for &head in &commons.claims {
            if oldest.is_some_and(|oldest| oldest < head) {
                break;
            }
            let Some(&Lane::Of(bucket)) = commons.heads.get(&head) else {
                continue;
            };
            let bucket = &self.buckets[bucket];
            let has_room = bucket.slots + bucket.promised < self.rules.bucket_limit;
            if has_room && bucket.needs_creation() {
                // Promises go to the oldest first, so few are stepped over.
                let mut line = self.waiters.in_line(&bucket.line);
                let first = line.find(|&id| !self.waiters[id].promised);
                oldest = [oldest, first].into_iter().flatten().min();
            }
        }
        oldest
    }

    /// The oldest request for a bucket that has nothing, not even the promise of a slot.
    fn missing(&self) -> Option<WaiterId> {
        let has_promise = |head: &WaiterId| {
            let bucket = self.waiters[*head].lane.bucket();
            bucket.is_some_and(|bucket| self.buckets[bucket].promised > 0)
        };
        let mut heads = self.commons.as_ref()?.missing.iter();
        heads.find(|head| !has_promise(head)).copied()
    }

    /// A worker has made way for this request, and its slot is free. If there are others below the
    /// target they are for whoever comes first; if not, this one is for the request's bucket, even
    /// where others have exceeded the target meanwhile: the total was no smaller before.
    pub(super) fn keep_promise(&mut self, heir: WaiterId, effects: &mut Effects<K, V, B>) {
        let Some(bucket) = self.waiters[heir].lane.bucket() else { return };
        let bucket = &self.buckets[bucket];
        let may_create = bucket.slots < self.rules.bucket_limit
            && self.creating < self.rules.creation_limit
            && bucket.needs_creation();
        if may_create && self.may_exceed() {
            if let Some(oldest) = self.waiters.first(&bucket.line) {
                self.grant(oldest, effects);
            }
        }
    }

    fn grant(&mut self, id: WaiterId, effects: &mut Effects<K, V, B>) {
        let lane = self.leave(id);
        // A request for any worker that waited for room in a bucket takes that room: of its kind,
        // one at a time may try whether its worker still belongs there.
        let slot = self.open_slot(lane.bucket());
        self.notify(id, WaiterState::Granted(slot), effects);
    }

    /// Hands a returned worker to a waiter.
    pub(super) fn hand(
        &mut self,
        id: WaiterId,
        value: V,
        slot: Slot,
        effects: &mut Effects<K, V, B>,
    ) {
        let lane = self.leave(id);
        let place = self.parked.insert((value, slot));
        self.notify(id, WaiterState::Handed(place), effects);
        if let Some(bucket) = lane.bucket() {
            self.sweep(bucket, effects);
        }
    }

    pub(super) fn notify(
        &mut self,
        id: WaiterId,
        state: WaiterState,
        effects: &mut Effects<K, V, B>,
    ) {
        let waiter = &mut self.waiters[id];
        waiter.state = state;
        effects.ring(waiter.bell.take());
    }
}
