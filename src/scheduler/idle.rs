//! Idle workers: the newest is taken first, the oldest given up first.

use super::bucket::Idle;
use super::recency::Recency;
use super::{BucketId, Effects, Index, Scheduler, Slot, Stage, Stamp, WaiterId};
use crate::PoolDestroyReason::{self, Evicted, Idle as Expired, Lifetime, Surplus};

impl<K, V, B> Scheduler<K, V, B> {
    /// Puts a worker to the idle ones, as the newest, and falls back to the limits.
    #[inline]
    pub(super) fn keep(
        &mut self,
        value: V,
        (bucket, record): (BucketId, Option<Index>),
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) {
        let now = self.advance(now);
        self.idle += 1;
        let place = self.recency.as_mut().map(|recency| recency.push(bucket));
        self.buckets[bucket].push_idle(Idle { value, since: now, place, record });
        self.kept(bucket, record, effects);
    }

    /// Falls back to the limits after a worker has become idle.
    #[inline]
    pub(super) fn kept(
        &mut self,
        bucket: BucketId,
        record: Option<Index>,
        effects: &mut Effects<K, V, B>,
    ) {
        if self.is_elaborate {
            self.note_and_fall_back(bucket, record, effects);
        } else {
            self.fall_back_to_limits(bucket, effects);
        }
    }

    /// The same where there is more to see to.
    fn note_and_fall_back(
        &mut self,
        bucket: BucketId,
        record: Option<Index>,
        effects: &mut Effects<K, V, B>,
    ) {
        if let Some(record) = record {
            self.records.rest(record, bucket);
        }
        self.fall_back_to_limits(bucket, effects);
        self.alert(effects);
    }

    #[inline]
    fn fall_back_to_limits(&mut self, bucket: BucketId, effects: &mut Effects<K, V, B>) {
        if self.buckets[bucket].idle.len() > self.rules.bucket_idle_limit {
            self.doom(bucket, Surplus, None, effects);
        }
        if self.commons.is_some() {
            self.settle(Some(bucket), effects);
        }
    }

    #[inline]
    pub(super) fn take_idle(&mut self, bucket: BucketId, index: usize) -> Idle<V> {
        let idle = self.buckets[bucket].take_idle(index);
        self.idle -= 1;
        if let (Some(recency), Some(place)) = (&mut self.recency, idle.place) {
            recency.remove(place);
        }
        if let Some(record) = idle.record {
            self.records.stir(record, bucket);
        }
        idle
    }

    /// The slot of a worker that was idle.
    #[inline]
    pub(super) fn live_slot(&self, bucket: BucketId, record: Option<Index>) -> Slot {
        Slot { bucket: Some(bucket), record, stamp: Stamp::new(self.generation, Stage::Live) }
    }

    /// Gives up the least recently used idle worker of a bucket.
    pub(super) fn doom(
        &mut self,
        bucket: BucketId,
        reason: PoolDestroyReason,
        heir: Option<WaiterId>,
        effects: &mut Effects<K, V, B>,
    ) {
        self.doom_at((bucket, 0), reason, heir, effects);
    }

    fn doom_at(
        &mut self,
        (bucket, index): (BucketId, usize),
        reason: PoolDestroyReason,
        heir: Option<WaiterId>,
        effects: &mut Effects<K, V, B>,
    ) {
        let Idle { value, record, .. } = self.take_idle(bucket, index);
        let mut slot = self.live_slot(bucket, record);
        self.mark_leaving(&mut slot, reason);
        effects.doom(value, slot, heir);
    }

    pub(super) fn mark_leaving(&mut self, slot: &mut Slot, reason: PoolDestroyReason) {
        slot.stamp = Stamp::new(slot.generation(), Stage::Leaving).because(reason);
        self.leaving += 1;
        if let Some(id) = slot.bucket {
            self.buckets[id].leaving += 1;
        }
        self.fall_back(slot.bucket);
    }

    /// Gives up the least recently used idle worker of all.
    pub(super) fn doom_oldest(
        &mut self,
        heir: Option<WaiterId>,
        effects: &mut Effects<K, V, B>,
    ) -> bool {
        let Some(bucket) = self.recency.as_ref().and_then(Recency::oldest) else {
            return false;
        };
        let oldest = self.buckets[bucket].idle.front();
        let reason = match heir {
            _ if oldest.is_some_and(|oldest| self.has_expired(oldest.since, self.latest)) => {
                Expired
            }
            Some(_) => Evicted,
            None => Surplus,
        };
        self.doom(bucket, reason, heir, effects);
        true
    }

    /// Falls back to the target.
    pub(super) fn doom_surplus(&mut self, effects: &mut Effects<K, V, B>) {
        while self.has_surplus() {
            if !self.doom_oldest(None, effects) {
                break;
            }
        }
    }

    #[inline]
    pub(super) fn has_surplus(&self) -> bool {
        // Where a victim goes last, it stays until there is a worker in its place.
        let to_come = if self.rules.creates_first { self.creating } else { 0 };
        let staying = self.slots - self.leaving - to_come;
        self.commons.as_ref().is_some_and(|all| staying > all.target)
    }

    /// Gives up the expired workers that a request for `scope` has to clean up.
    #[inline]
    pub(super) fn doom_expired(
        &mut self,
        scope: Option<BucketId>,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) -> usize {
        if self.rules.idle_timeout.is_none() {
            return 0;
        }
        let mut count = 0;
        while let Some(bucket) = self.expired_in(scope, now) {
            self.doom(bucket, Expired, None, effects);
            count += 1;
        }
        count
    }

    /// Gives up the idle workers that are too old.
    pub(super) fn doom_old(&mut self, now: u64, effects: &mut Effects<K, V, B>) -> usize {
        let mut count = 0;
        while let Some((end, record, bucket)) = self.records.first_end() {
            if end > now {
                break;
            }
            let mut idle = self.buckets[bucket].idle.iter();
            let index = idle.position(|idle| idle.record == Some(record));
            let index = index.expect("the ends are those of idle workers");
            self.doom_at((bucket, index), Lifetime, None, effects);
            count += 1;
        }
        count
    }

    fn expired_in(&self, scope: Option<BucketId>, now: u64) -> Option<BucketId> {
        let everywhere = self.commons.is_some() || scope.is_none();
        let bucket = match &self.recency {
            Some(recency) if everywhere => recency.oldest()?,
            _ => scope.or_else(|| self.buckets.sole())?,
        };
        let oldest = self.buckets[bucket].idle.front()?;
        self.has_expired(oldest.since, now).then_some(bucket)
    }

    pub(super) fn has_expired(&self, since: u64, now: u64) -> bool {
        self.rules.idle_timeout.is_some_and(|timeout| now - since >= timeout)
    }

    /// The time of an event. Threads read the clock before they take the lock, and a test's clock
    /// may differ from thread to thread; here it never goes back.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }
}
