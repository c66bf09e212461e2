//! Changing how many slots there may be.

use super::{BucketId, Effects, Scheduler};
use crate::PoolDestroyReason;

impl<K, V, B> Scheduler<K, V, B> {
    /// Sets the limit of every bucket or, where they share one, the target.
    ///
    /// Of what is above it, the least recently used idle workers go at once, and as many of those
    /// that are out as they come back.
    pub(crate) fn resize(&mut self, limit: usize, effects: &mut Effects<K, V, B>) {
        if let Some(commons) = &mut self.commons {
            commons.target = limit;
            self.settle(None, effects);
            let excess = self.excess(None);
            if let Some(commons) = &mut self.commons {
                commons.retiring = excess;
            }
            return self.alert(effects);
        }
        self.rules.bucket_limit = limit;
        for id in self.buckets.ids() {
            while self.excess(Some(id)) > 0 && !self.buckets[id].idle.is_empty() {
                self.doom(id, PoolDestroyReason::Surplus, None, effects);
            }
            self.buckets[id].retiring = self.excess(Some(id));
            self.settle(Some(id), effects);
        }
        self.alert(effects);
    }

    /// Something has gone, so it need not be retired as it comes back.
    pub(super) fn fall_back(&mut self, bucket: Option<BucketId>) {
        let excess = self.excess(bucket);
        let retiring = match (&mut self.commons, bucket) {
            (Some(commons), _) => &mut commons.retiring,
            (None, Some(id)) => &mut self.buckets[id].retiring,
            (None, None) => return,
        };
        *retiring = excess.min(*retiring);
    }

    /// How many slots above the limit are not being freed yet.
    fn excess(&self, bucket: Option<BucketId>) -> usize {
        let counts = self.counts_around(bucket);
        (counts.total - counts.leaving).saturating_sub(counts.limit)
    }
}
