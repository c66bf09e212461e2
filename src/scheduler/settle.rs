//! Who gets what has become free. After every event that frees something, [`Scheduler::settle`]
//! goes on until nobody waits beside what could serve them.

use std::collections::BTreeSet;

use super::bucket::SMALL;
use super::waiter::WaiterState;
use super::{BucketId, Effects, Lane, Scheduler, Slot, Stage, Ticket};

/// What is due next among buckets that share a target.
enum Due {
    /// This request may create.
    Grant(Ticket),
    /// The least recently used idle worker makes way for this request.
    Evict(Ticket),
}

impl<K, V, B> Scheduler<K, V, B> {
    /// Serves whoever can be served by creating: the waiters of `scope`, or all of them where the
    /// buckets share a target.
    pub(super) fn settle(&mut self, scope: Option<BucketId>, effects: &mut Effects<K, V, B>) {
        if self.commons.is_some() {
            while let Some(due) = self.due() {
                match due {
                    Due::Grant(ticket) => self.grant(ticket, effects),
                    Due::Evict(heir) => {
                        self.promise(heir);
                        self.doom_oldest(Some(heir), effects);
                    }
                }
            }
            self.doom_surplus(effects);
        } else if let Some(bucket) = scope {
            while let Some(ticket) = self.due_in(bucket) {
                self.grant(ticket, effects);
            }
        }
    }

    fn due_in(&self, bucket: BucketId) -> Option<Ticket> {
        let bucket = &self.buckets[bucket];
        let may_create =
            bucket.slots < self.rules.bucket_limit && bucket.creating < self.rules.creation_limit;
        bucket.line.first().copied().filter(|_| may_create)
    }

    fn due(&self) -> Option<Due> {
        let commons = self.commons.as_ref()?;
        if commons.heads.is_empty() || !self.may_start_creation() {
            return None;
        }
        if self.slots < commons.target {
            let heads = [commons.claims.first(), commons.takers.first()];
            return heads.into_iter().flatten().min().copied().map(Due::Grant);
        }
        if self.idle > 0 {
            return self.claimant().map(Due::Evict);
        }
        let mut missing = commons.missing.iter();
        missing
            .find(|&&head| !self.has_promise(head))
            .copied()
            .map(Due::Grant)
    }

    /// Whether the limit on creations allows one more beside those that have been promised.
    fn may_start_creation(&self) -> bool {
        let commons = self.commons.as_ref();
        commons.is_none_or(|all| all.creating + all.promised < self.rules.creation_limit)
    }

    /// The oldest request for one bucket that could create in the slot of a worker which is
    /// destroyed now, and for which none is being destroyed yet.
    pub(super) fn claimant(&self) -> Option<Ticket> {
        let commons = self.commons.as_ref()?;
        if !self.may_start_creation() {
            return None;
        }
        // Above the target a slot vanishes when it is freed, unless a bucket has nothing at all.
        let lanes = if self.slots <= commons.target {
            &commons.claims
        } else {
            &commons.missing
        };
        let mut oldest: Option<Ticket> = None;
        for &head in lanes {
            if oldest.is_some_and(|oldest| oldest < head) {
                break;
            }
            let Some(&Lane::Of(bucket)) = commons.heads.get(&head) else {
                continue;
            };
            let bucket = &self.buckets[bucket];
            if bucket.slots + bucket.promised < self.rules.bucket_limit {
                // Promises go to the oldest first, so few are stepped over.
                let first = bucket
                    .line
                    .iter()
                    .find(|ticket| !self.waiters[ticket].promised);
                oldest = [oldest, first.copied()].into_iter().flatten().min();
            }
        }
        oldest
    }

    /// Whether a slot is being cleared for somebody in the line of this request.
    fn has_promise(&self, head: Ticket) -> bool {
        let bucket = self.waiters[&head].lane.bucket();
        bucket.is_some_and(|bucket| self.buckets[bucket].promised > 0)
    }

    fn grant(&mut self, ticket: Ticket, effects: &mut Effects<K, V, B>) {
        let lane = self.leave(ticket);
        let slot = self.open_slot(match lane {
            Lane::Of(bucket) => Some(bucket),
            Lane::Any | Lane::AnyOnceRoom(_) => None,
        });
        self.notify(ticket, WaiterState::Granted(slot), effects);
        if let Some(bucket) = lane.bucket() {
            self.sweep(bucket, effects);
        }
    }

    /// Hands a returned worker to a waiter.
    pub(super) fn hand(
        &mut self,
        ticket: Ticket,
        value: V,
        slot: Slot,
        effects: &mut Effects<K, V, B>,
    ) {
        let lane = self.leave(ticket);
        let place = self.parked.insert((value, slot));
        self.notify(ticket, WaiterState::Handed(place), effects);
        if let Some(bucket) = lane.bucket() {
            self.sweep(bucket, effects);
        }
    }

    pub(super) fn unpark(&mut self, place: usize) -> (V, Slot) {
        let parked = self.parked.remove(place);
        // A crowd that has gone must not keep its room.
        if self.parked.is_empty() && self.parked.capacity() > SMALL {
            self.parked.shrink_to_fit();
        }
        parked
    }

    fn notify(&mut self, ticket: Ticket, state: WaiterState, effects: &mut Effects<K, V, B>) {
        let waiter = self.waiter(ticket);
        waiter.state = state;
        effects.rings.extend(waiter.bell.take());
    }

    /// Takes a queued request out of its line, and back any promise made to it.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Lane {
        self.take_promise_back(ticket);
        let lane = self.waiter(ticket).lane;
        self.change_lane(lane, |line| {
            line.remove(&ticket);
        });
        lane
    }

    pub(super) fn change_lane(&mut self, lane: Lane, change: impl FnOnce(&mut BTreeSet<Ticket>)) {
        match lane {
            Lane::Of(bucket) => self.change(bucket, |bucket| change(&mut bucket.line)),
            Lane::AnyOnceRoom(bucket) => self.change(bucket, |bucket| change(&mut bucket.bounced)),
            Lane::Any => {
                if let Some(commons) = &mut self.commons {
                    commons.change_anyone(change);
                }
            }
        }
    }

    pub(super) fn promise(&mut self, ticket: Ticket) {
        self.count_promise(ticket, true);
    }

    /// Forgets a promise, be it kept or void.
    pub(super) fn take_promise_back(&mut self, ticket: Ticket) {
        if self
            .waiters
            .get(&ticket)
            .is_some_and(|waiter| waiter.promised)
        {
            self.count_promise(ticket, false);
        }
    }

    fn count_promise(&mut self, ticket: Ticket, promised: bool) {
        let waiter = self.waiter(ticket);
        waiter.promised = promised;
        let (Some(bucket), Some(commons)) = (waiter.lane.bucket(), &mut self.commons) else {
            return;
        };
        for count in [&mut commons.promised, &mut self.buckets[bucket].promised] {
            *count = if promised { *count + 1 } else { *count - 1 };
        }
    }

    pub(super) fn take_idle(&mut self, bucket: BucketId, index: usize) -> (V, Slot) {
        let idle = self.buckets[bucket].take_idle(index);
        self.idle -= 1;
        if let Some(recency) = &mut self.recency {
            recency.remove(&idle.order);
        }
        let generation = self.generation;
        (
            idle.value,
            Slot {
                bucket: Some(bucket),
                stage: Stage::Live,
                generation,
            },
        )
    }

    /// Gives up the least recently used idle worker of a bucket.
    pub(super) fn doom(
        &mut self,
        bucket: BucketId,
        heir: Option<Ticket>,
        effects: &mut Effects<K, V, B>,
    ) {
        let (value, mut slot) = self.take_idle(bucket, 0);
        self.mark_leaving(&mut slot);
        effects.doom(value, slot, heir);
    }

    pub(super) fn mark_leaving(&mut self, slot: &mut Slot) {
        slot.stage = Stage::Leaving;
        if let Some(commons) = &mut self.commons {
            commons.leaving += 1;
        }
    }

    /// Gives up the least recently used idle worker of all.
    fn doom_oldest(&mut self, heir: Option<Ticket>, effects: &mut Effects<K, V, B>) -> bool {
        let oldest = self
            .recency
            .as_ref()
            .and_then(|recency| recency.first_key_value());
        let Some((_, &bucket)) = oldest else {
            return false;
        };
        self.doom(bucket, heir, effects);
        true
    }

    /// Falls back to the target.
    fn doom_surplus(&mut self, effects: &mut Effects<K, V, B>) {
        while self
            .commons
            .as_ref()
            .is_some_and(|all| self.slots - all.leaving > all.target)
        {
            if !self.doom_oldest(None, effects) {
                break;
            }
        }
    }

    /// Gives up the expired workers that a request for `scope` has to clean up.
    pub(super) fn doom_expired(
        &mut self,
        scope: Option<BucketId>,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) -> usize {
        let mut count = 0;
        while let Some(bucket) = self.expired_in(scope, now) {
            self.doom(bucket, None, effects);
            count += 1;
        }
        count
    }

    fn expired_in(&self, scope: Option<BucketId>, now: u64) -> Option<BucketId> {
        self.rules.idle_timeout?;
        let everywhere = self.commons.is_some() || scope.is_none();
        let bucket = match &self.recency {
            Some(recency) if everywhere => recency.first_key_value().map(|(_, &bucket)| bucket)?,
            _ => scope.or_else(|| self.buckets.sole())?,
        };
        let oldest = self.buckets[bucket].idle.front()?;
        self.has_expired(oldest.since, now).then_some(bucket)
    }

    pub(super) fn has_expired(&self, since: u64, now: u64) -> bool {
        self.rules
            .idle_timeout
            .is_some_and(|timeout| now - since >= timeout)
    }

    /// The time of an event. Threads read the clock before they take the lock, and a test's clock
    /// may differ from thread to thread; here it never goes back.
    pub(super) fn advance(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }
}
