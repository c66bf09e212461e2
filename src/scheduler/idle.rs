//! Idle workers: the newest is taken first, the oldest given up first.

use super::bucket::Idle;
use super::recency::Recency;
use super::{BucketId, Effects, Scheduler, Slot, Stage, WaiterId};

impl<K, V, B> Scheduler<K, V, B> {
    /// Puts a worker to the idle ones, as the newest, and falls back to the limits.
    #[inline]
    pub(super) fn keep(
        &mut self,
        value: V,
        bucket: BucketId,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) {
        let now = self.advance(now);
        self.idle += 1;
        let place = self.recency.as_mut().map(|recency| recency.push(bucket));
        let home = &mut self.buckets[bucket];
        home.push_idle(Idle { value, since: now, place });
        if home.idle.len() > self.rules.bucket_idle_limit {
            self.doom(bucket, None, effects);
        }
        if self.commons.is_some() {
            self.settle(Some(bucket), effects);
        }
    }

    #[inline]
    pub(super) fn take_idle(&mut self, bucket: BucketId, index: usize) -> (V, Slot) {
        let idle = self.buckets[bucket].take_idle(index);
        self.idle -= 1;
        if let (Some(recency), Some(place)) = (&mut self.recency, idle.place) {
            recency.remove(place);
        }
        let generation = self.generation;
        (idle.value, Slot { bucket: Some(bucket), stage: Stage::Live, generation })
    }

    /// Gives up the least recently used idle worker of a bucket.
    pub(super) fn doom(
        &mut self,
        bucket: BucketId,
        heir: Option<WaiterId>,
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
    pub(super) fn doom_oldest(
        &mut self,
        heir: Option<WaiterId>,
        effects: &mut Effects<K, V, B>,
    ) -> bool {
        let Some(bucket) = self.recency.as_ref().and_then(Recency::oldest) else {
            return false;
        };
        self.doom(bucket, heir, effects);
        true
    }

    /// Falls back to the target.
    pub(super) fn doom_surplus(&mut self, effects: &mut Effects<K, V, B>) {
        while self.commons.as_ref().is_some_and(|all| self.slots - all.leaving > all.target) {
            if !self.doom_oldest(None, effects) {
                break;
            }
        }
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
            self.doom(bucket, None, effects);
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
