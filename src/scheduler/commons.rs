use std::collections::{BTreeMap, BTreeSet};

use super::bucket::Bucket;
use super::line::{Line, Waiters};
use super::{Lane, WaiterId};

/// What buckets with a common target share: counts over all of them, and indexes over their lanes
/// that find the oldest request of a kind without looking at the others.
///
/// A lane is *filed* under the ticket of its oldest request. Whatever may change that ticket, or
/// the counts of the lane's bucket, happens between [`unfile`](Self::unfile) and
/// [`file`](Self::file), so that the indexes never lag behind.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Commons {
    pub(super) target: usize,
    /// How many of those that are out have to go as they come back.
    pub(super) retiring: usize,
    /// Creations for no bucket in particular that go on apart from their requests.
    pub(super) apart: usize,
    /// Slots being cleared for a request.
    pub(super) promised: usize,
    /// Queued requests for any worker.
    pub(super) anyone: Line,
    /// All lanes in which somebody waits.
    pub(super) heads: BTreeMap<WaiterId, Lane>,
    /// Those of `heads` that want one bucket, which has room.
    pub(super) claims: BTreeSet<WaiterId>,
    /// Those of `claims` whose bucket has nothing at all.
    pub(super) missing: BTreeSet<WaiterId>,
    /// Those of `heads` that take any worker and may create.
    pub(super) takers: BTreeSet<WaiterId>,
}

impl Commons {
    pub(super) fn new(target: usize) -> Self {
        Self {
            target,
            retiring: 0,
            apart: 0,
            promised: 0,
            anyone: Line::default(),
            heads: BTreeMap::new(),
            claims: BTreeSet::new(),
            missing: BTreeSet::new(),
            takers: BTreeSet::new(),
        }
    }

    /// Enters the lanes of `bucket` into the indexes.
    pub(super) fn file<K, V, B>(
        &mut self,
        bucket: &Bucket<K, V>,
        waiters: &Waiters<B>,
        bucket_limit: usize,
    ) {
        let has_room = bucket.slots < bucket_limit && bucket.apart < bucket.waiting();
        if let Some(head) = waiters.first(&bucket.line) {
            self.heads.insert(head, Lane::Of(bucket.id()));
            if has_room {
                self.claims.insert(head);
                if bucket.slots == 0 {
                    self.missing.insert(head);
                }
            }
        }
        if let Some(head) = waiters.first(&bucket.bounced) {
            self.heads.insert(head, Lane::AnyOnceRoom(bucket.id()));
            if has_room {
                self.takers.insert(head);
            }
        }
    }

    /// Takes the lanes of `bucket` out of the indexes.
    pub(super) fn unfile<K, V, B>(&mut self, bucket: &Bucket<K, V>, waiters: &Waiters<B>) {
        for head in [&bucket.line, &bucket.bounced].into_iter().flat_map(|line| waiters.first(line))
        {
            self.heads.remove(&head);
            self.claims.remove(&head);
            self.missing.remove(&head);
            self.takers.remove(&head);
        }
    }

    /// Changes the line of those who take any worker.
    pub(super) fn change_anyone<B, R>(
        &mut self,
        waiters: &mut Waiters<B>,
        change: impl FnOnce(&mut Line, &mut Waiters<B>) -> R,
    ) -> R {
        if let Some(head) = waiters.first(&self.anyone) {
            self.heads.remove(&head);
            self.takers.remove(&head);
        }
        let result = change(&mut self.anyone, waiters);
        if let Some(head) = waiters.first(&self.anyone) {
            self.heads.insert(head, Lane::Any);
            if self.apart < self.anyone.len() {
                self.takers.insert(head);
            }
        }
        result
    }

    pub(super) fn forget_waiters(&mut self) {
        self.anyone.clear();
        self.heads.clear();
        self.claims.clear();
        self.missing.clear();
        self.takers.clear();
        self.promised = 0;
    }
}
