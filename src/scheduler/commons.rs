use std::collections::{BTreeMap, BTreeSet};

use super::bucket::Bucket;
use super::{Lane, Ticket};

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
    /// Creations under way, for a known bucket or not.
    pub(super) creating: usize,
    /// Slots being cleared for a request.
    pub(super) promised: usize,
    /// Slots of workers that the scheduler itself has given up and that are being destroyed.
    pub(super) leaving: usize,
    /// Queued requests for any worker.
    pub(super) anyone: BTreeSet<Ticket>,
    /// All lanes in which somebody waits.
    pub(super) heads: BTreeMap<Ticket, Lane>,
    /// Those of `heads` that want one bucket, which has room.
    pub(super) claims: BTreeSet<Ticket>,
    /// Those of `claims` whose bucket has nothing at all.
    pub(super) missing: BTreeSet<Ticket>,
    /// Those of `heads` that take any worker and may create.
    pub(super) takers: BTreeSet<Ticket>,
}

impl Commons {
    pub(super) fn new(target: usize) -> Self {
        Self {
            target,
            creating: 0,
            promised: 0,
            leaving: 0,
            anyone: BTreeSet::new(),
            heads: BTreeMap::new(),
            claims: BTreeSet::new(),
            missing: BTreeSet::new(),
            takers: BTreeSet::new(),
        }
    }

    /// Enters the lanes of `bucket` into the indexes.
    pub(super) fn file<K, V>(&mut self, bucket: &Bucket<K, V>, bucket_limit: usize) {
        let has_room = bucket.slots < bucket_limit;
        if let Some(&head) = bucket.line.first() {
            self.heads.insert(head, Lane::Of(bucket.id()));
            if has_room {
                self.claims.insert(head);
                if bucket.slots == 0 {
                    self.missing.insert(head);
                }
            }
        }
        if let Some(&head) = bucket.bounced.first() {
            self.heads.insert(head, Lane::AnyOnceRoom(bucket.id()));
            if has_room {
                self.takers.insert(head);
            }
        }
    }

    /// Takes the lanes of `bucket` out of the indexes.
    pub(super) fn unfile<K, V>(&mut self, bucket: &Bucket<K, V>) {
        for head in [bucket.line.first(), bucket.bounced.first()].into_iter().flatten() {
            self.heads.remove(head);
            self.claims.remove(head);
            self.missing.remove(head);
            self.takers.remove(head);
        }
    }

    /// Adds or removes a request for any worker.
    pub(super) fn change_anyone(&mut self, change: impl FnOnce(&mut BTreeSet<Ticket>)) {
        if let Some(head) = self.anyone.first() {
            self.heads.remove(head);
            self.takers.remove(head);
        }
        change(&mut self.anyone);
        if let Some(&head) = self.anyone.first() {
            self.heads.insert(head, Lane::Any);
            self.takers.insert(head);
        }
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
