//! What there is at one moment, for people.

use std::iter::Sum;

use super::{BucketId, Refusal, Scheduler, Wish};

/// Counts that belong together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Of each bucket, or the target.
    pub(crate) limit: usize,
    pub(crate) total: usize,
    pub(crate) idle: usize,
    pub(crate) creating: usize,
    pub(crate) leaving: usize,
    pub(crate) waiting: usize,
    pub(crate) phase: Phase,
}

/// Whether requests are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Open,
    Clearing,
    Closed,
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, part| Self {
            limit: sum.limit.max(part.limit),
            total: sum.total + part.total,
            idle: sum.idle + part.idle,
            creating: sum.creating + part.creating,
            leaving: sum.leaving + part.leaving,
            waiting: sum.waiting + part.waiting,
            phase: sum.phase.max(part.phase),
        })
    }
}

impl<K, V, B> Scheduler<K, V, B> {
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            limit: self.limit(),
            total: self.slots,
            idle: self.idle,
            creating: self.creating,
            leaving: self.leaving,
            waiting: self.waiters.queued(),
            phase: self.phase(),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.commons.as_ref().map_or(self.rules.bucket_limit, |commons| commons.target)
    }

    fn phase(&self) -> Phase {
        match self.shut {
            None => Phase::Open,
            Some(Refusal::Closed) => Phase::Closed,
            Some(_) => Phase::Clearing,
        }
    }

    /// The counts that limits apply to: of this bucket, or of all where they share a target. Without
    /// either there is nothing yet.
    pub(super) fn counts_around(&self, bucket: Option<BucketId>) -> Counts {
        match (&self.commons, bucket) {
            (Some(_), _) => self.counts(),
            (None, Some(id)) => self.counts_in(id),
            (None, None) => {
                Counts { limit: self.limit(), phase: self.phase(), ..Counts::default() }
            }
        }
    }

    fn counts_in(&self, id: BucketId) -> Counts {
        let bucket = &self.buckets[id];
        Counts {
            limit: self.limit(),
            total: bucket.slots,
            idle: bucket.idle.len(),
            creating: bucket.creating,
            leaving: bucket.leaving,
            waiting: bucket.line.len(),
            phase: self.phase(),
        }
    }
}

impl<K: Eq, V, B> Scheduler<K, V, B> {
    /// The counts of what a request competes for: its own bucket, where they are apart.
    pub(crate) fn counts_for(&self, wish: Wish<'_, K>) -> Counts {
        match wish {
            Wish::Of { hash, key } if self.commons.is_none() => self.counts_of(hash, key),
            _ => self.counts(),
        }
    }

    /// The counts of one bucket.
    pub(crate) fn counts_of(&self, hash: u64, key: &K) -> Counts {
        let none = Counts { limit: self.limit(), phase: self.phase(), ..Counts::default() };
        self.buckets.find(hash, key).map_or(none, |id| self.counts_in(id))
    }
}
