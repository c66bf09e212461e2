//! Events of a slot: a creation ends, a worker comes back, a worker is gone.

use super::record::Life;
use super::{BucketId, Effects, How, Lane, Refusal, Scheduler, Slot, Stage, Standing, WaiterId};
use crate::PoolDestroyReason as Reason;

/// What becomes of a worker that comes back.
#[derive(Debug)]
pub(crate) enum ReturnPlan {
    /// To the oldest waiter that it fits, past an older one that could have used its slot.
    Hand { to: WaiterId, past: Option<WaiterId> },
    /// To the idle ones of this bucket.
    Keep(BucketId),
    /// Destroyed: it is of before or spent, there are too many, or nothing idle may be kept.
    Destroy(Reason),
    /// Destroyed, so that this waiter can create in its slot.
    MakeWay(WaiterId),
}

/// A worker that has just been created.
#[derive(Debug)]
pub(crate) struct Arrival<'a, K> {
    /// Its bucket, where the request was for any.
    pub(crate) bucket: Option<(u64, &'a K)>,
    /// What is kept of it, if anything is.
    pub(crate) life: Option<Life>,
    /// How long its creation took, in nanoseconds.
    pub(crate) took: u64,
    pub(crate) now: u64,
}

/// What becomes of a worker that has just been created.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// It belongs to the request that created it.
    Welcome,
    /// Its bucket is full. It has to be destroyed; the request may try again when there is room.
    Full,
    /// A clear has begun since. It has to be destroyed.
    Refused(Refusal),
    /// All workers of before were given up since. It has to be destroyed; the request may create
    /// another one in the same slot.
    Outdated,
}

impl<K: Eq, V, B> Scheduler<K, V, B> {
    /// A creation has ended well. Unless the worker is welcome, `slot` stays as it was.
    ///
    /// `spare_key` is the key of the worker's bucket, should that be new.
    pub(crate) fn created(
        &mut self,
        slot: &mut Slot,
        arrival: Arrival<'_, K>,
        spare_key: &mut Option<K>,
        standing: &mut Standing,
        effects: &mut Effects<K, V, B>,
    ) -> Birth {
        let birth = self.admit(slot, arrival, spare_key, effects);
        match birth {
            Birth::Welcome => {
                self.tally.serve(standing, How::ByCreation);
                // Somebody may have waited for nothing but the end of this creation.
                self.settle(slot.bucket, effects);
            }
            Birth::Refused(refusal) => self.tally.fail(standing, refusal.into()),
            Birth::Full | Birth::Outdated => {}
        }
        birth
    }

    /// The same where no request sees to the creation. The worker has to be given back under the same
    /// lock, for until then nobody is given the room that the end of the creation leaves.
    pub(crate) fn created_spare(
        &mut self,
        slot: &mut Slot,
        arrival: Arrival<'_, K>,
        spare_key: &mut Option<K>,
        effects: &mut Effects<K, V, B>,
    ) -> Birth {
        let birth = self.admit(slot, arrival, spare_key, effects);
        if birth == Birth::Welcome {
            slot.set_stage(Stage::New);
            slot.record.into_iter().for_each(|record| self.records.forget_use(record));
        }
        birth
    }

    fn admit(
        &mut self,
        slot: &mut Slot,
        arrival: Arrival<'_, K>,
        spare_key: &mut Option<K>,
        effects: &mut Effects<K, V, B>,
    ) -> Birth {
        let Arrival { bucket, life, took, now } = arrival;
        let now = self.advance(now);
        if self.is_cleared(slot) {
            self.tally.create(took);
            self.tally.destroy(Reason::Cleared);
            slot.set_stage(Stage::Vain);
            return Birth::Refused(self.ended());
        }
        if !self.is_current(slot) {
            self.tally.create(took);
            self.tally.destroy(Reason::Invalidated);
            slot.set_generation(self.generation);
            return Birth::Outdated;
        }
        let expected = slot.bucket;
        // Runs a key's `Eq`, so nothing has changed yet.
        let found = bucket.and_then(|(hash, key)| self.buckets.find(hash, key));
        self.tally.create(took);
        if let Some((hash, _)) = bucket {
            let is_full = |id| self.buckets[id].slots >= self.rules.bucket_limit;
            if found != expected && found.is_some_and(is_full) {
                self.tally.destroy(Reason::Surplus);
                slot.set_stage(Stage::Vain);
                return Birth::Full;
            }
            slot.bucket = found.or_else(|| {
                let key = spare_key.take().expect("a new bucket is brought a key");
                Some(self.buckets.insert(hash, key))
            });
        }
        if let Some(id) = expected {
            self.change(id, |bucket, _| {
                bucket.slots -= 1;
                bucket.creating -= 1;
            });
        }
        if let Some(id) = slot.bucket {
            self.change(id, |bucket, _| bucket.slots += 1);
        }
        self.end_creation(&mut Slot { bucket: expected, record: None, stamp: slot.stamp });
        self.creating -= 1;
        slot.set_stage(Stage::Live);
        if let Some(life) = life {
            self.is_elaborate = true;
            slot.record = Some(self.records.open(life, now));
        }
        if let Some(expected) = expected {
            self.sweep(expected, effects);
        }
        Birth::Welcome
    }

    /// Judges a worker that is well and comes back, without changing anything.
    ///
    /// Asks `serves` of each waiting bucket at most once, the oldest waiter first.
    #[inline]
    pub(crate) fn plan_return(
        &self,
        slot: &Slot,
        value: &V,
        now: u64,
        mut serves: impl FnMut(&V, &K) -> bool,
    ) -> ReturnPlan {
        // What has not been out need not go before whoever it was created for has had it.
        let is_new = slot.stage() == Stage::New;
        let is_spent = |record| !is_new && self.is_spent(record, now);
        if !self.is_current(slot) {
            return ReturnPlan::Destroy(self.reason_of_before(slot));
        }
        if self.is_elaborate && slot.record.is_some_and(is_spent) {
            return ReturnPlan::Destroy(self.reason_of_spent(slot, now));
        }
        let Some(bucket) = slot.bucket else {
            return ReturnPlan::Destroy(Reason::Surplus);
        };
        let Some(commons) = &self.commons else {
            let home = &self.buckets[bucket];
            return match self.waiters.first(&home.line) {
                Some(to) if is_new => ReturnPlan::Hand { to, past: None },
                _ if home.retiring > 0 => ReturnPlan::Destroy(Reason::Surplus),
                Some(to) => ReturnPlan::Hand { to, past: None },
                None if self.rules.bucket_idle_limit == 0 => ReturnPlan::Destroy(Reason::Surplus),
                None => ReturnPlan::Keep(bucket),
            };
        };
        if commons.retiring > 0 && !is_new {
            return ReturnPlan::Destroy(Reason::Surplus);
        }
        let mut fits = |lane: &Lane| match *lane {
            Lane::Any | Lane::AnyOnceRoom(_) => true,
            Lane::Of(wanted) => wanted == bucket || serves(value, &self.buckets[wanted].key),
        };
        let Some((&to, _)) = commons.heads.iter().find(|(_, lane)| fits(lane)) else {
            return match commons.retiring {
                0 => ReturnPlan::Keep(bucket),
                _ => ReturnPlan::Destroy(Reason::Surplus),
            };
        };
        match self.claimant().filter(|&claimant| claimant < to) {
            Some(starved) if self.waiters[starved].passed >= self.rules.max_passes => {
                ReturnPlan::MakeWay(starved)
            }
            past => ReturnPlan::Hand { to, past },
        }
    }

    /// Carries the plan out, under the lock under which it was made.
    #[inline]
    pub(crate) fn commit_return(
        &mut self,
        plan: ReturnPlan,
        mut slot: Slot,
        value: V,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) {
        let bucket = slot.bucket;
        slot.set_stage(Stage::Live);
        match plan {
            ReturnPlan::Keep(bucket) => {
                return self.keep(value, (bucket, slot.record), now, effects);
            }
            ReturnPlan::Hand { to, past } => {
                if let Some(past) = past {
                    self.waiters[past].passed += 1;
                }
                self.hand(to, value, slot, effects);
            }
            ReturnPlan::Destroy(reason) => {
                self.mark_leaving(&mut slot, reason);
                effects.doom(value, slot, None);
            }
            ReturnPlan::MakeWay(heir) => {
                self.promise(heir);
                self.mark_leaving(&mut slot, Reason::Evicted);
                effects.doom(value, slot, Some(heir));
            }
        }
        // Whoever was served may have had a promise that others can use now, and a creation may just
        // have ended.
        self.settle(bucket, effects);
    }

    /// The slot is empty: nothing came of a creation, or a worker's destructor has returned, whose
    /// slot had been cleared for `heir`.
    pub(crate) fn free(
        &mut self,
        slot: Slot,
        heir: Option<WaiterId>,
        effects: &mut Effects<K, V, B>,
    ) {
        let heir = heir.filter(|&heir| self.waiters.get(heir).is_some_and(|heir| heir.promised));
        if let Some(heir) = heir {
            self.take_promise_back(heir);
        }
        let bucket = self.close_slot(slot);
        if let Some(heir) = heir {
            self.keep_promise(heir, effects);
        }
        self.settle(bucket, effects);
        if let Some(bucket) = bucket {
            self.sweep(bucket, effects);
        }
        self.alert(effects);
        self.tell_clears(effects);
    }

    /// Gives up every expired idle worker, and says how many.
    pub(crate) fn expire(&mut self, now: u64, effects: &mut Effects<K, V, B>) -> usize {
        let now = self.advance(now);
        let count = self.doom_expired(None, now, effects) + self.doom_old(now, effects);
        self.alert(effects);
        count
    }
}
