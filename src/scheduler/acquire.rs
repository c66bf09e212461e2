//! Events of a request: look for an idle worker, join the line, collect, leave.

use super::bucket::Idle;
use super::waiter::WaiterState;
use super::{
    BucketId, Effects, End, How, Index, Lane, Refusal, Scheduler, Slot, Standing, Ticket, Waiter,
    WaiterId,
};
use crate::PoolDestroyReason;

/// Which worker a request wants.
#[derive(Debug)]
pub(crate) enum Wish<'a, K> {
    /// One of the sole bucket.
    Sole,
    /// Any.
    Any,
    /// Any; may create again once the bucket of this key has room.
    AnyOnceRoom { hash: u64, key: &'a K },
    /// One of the bucket of this key, or one that serves the key.
    Of { hash: u64, key: &'a K },
}

impl<K> Clone for Wish<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Wish<'_, K> {}

impl<'a, K> Wish<'a, K> {
    pub(crate) fn key(self) -> Option<&'a K> {
        match self {
            Self::Of { key, .. } | Self::AnyOnceRoom { key, .. } => Some(key),
            Self::Sole | Self::Any => None,
        }
    }
}

/// A request that found no idle worker at first glance, and what it has prepared. Whatever is not
/// needed stays with the caller, to be dropped outside the lock.
#[derive(Debug)]
pub(crate) struct Entry<'a, K, B> {
    pub(crate) wish: Wish<'a, K>,
    /// Its place, if it has one already.
    pub(crate) ticket: Option<Ticket>,
    /// When it will have waited long enough.
    pub(crate) deadline: Option<u64>,
    /// The slots, empty by now, of workers that were given to this request in vain.
    pub(crate) held: &'a mut Vec<Slot>,
    /// The generation of such workers whose slots somebody else has, who destroys them.
    pub(crate) buried: Option<u64>,
    /// Rings when there is something to collect.
    pub(crate) bell: &'a mut Option<B>,
    /// How far it is known.
    pub(crate) standing: &'a mut Standing,
    /// Since when it waits, be it that it comes back, in nanoseconds.
    pub(crate) since: u64,
    /// The key of the bucket, should it be new.
    pub(crate) spare_key: &'a mut Option<K>,
}

/// An idle worker, lent out. It still has to be asked whether it is well.
#[derive(Debug)]
pub(crate) struct Lent<V> {
    pub(crate) value: V,
    pub(crate) slot: Slot,
    /// The place of the request, should the worker turn out to be dead.
    pub(crate) ticket: Ticket,
    /// For how long it was idle, in nanoseconds; 0 where no clock is read.
    pub(crate) rested: u64,
    /// It has been used as often, or has lived as long, as it may.
    pub(crate) is_spent: bool,
}

#[derive(Debug)]
pub(crate) enum Entered<V> {
    Lent(Lent<V>),
    /// The bell rings, or has rung.
    Waits(WaiterId),
}

/// What a waiter collects.
#[derive(Debug)]
pub(crate) enum Grant<V> {
    /// A worker that was well when it was returned just now.
    Worker(V, Slot),
    /// The right to create.
    Create(Slot),
    /// A worker that was handed over, and given up with all of before since.
    Outdated(V, Slot),
    Refused(Refusal),
}

impl<K: Eq, V, B> Scheduler<K, V, B> {
    /// Lends the newest idle worker of the request's own bucket, if there is one; everything else
    /// is left to [`enter`](Self::enter).
    ///
    /// An idle worker has nobody waiting for it, so nobody is passed.
    #[inline]
    pub(crate) fn lend(
        &mut self,
        wish: Wish<'_, K>,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) -> Result<Option<Lent<V>>, Refusal> {
        if let Some(refusal) = self.shut {
            self.tally.open().end_early(None, &mut Standing::New, End::Refused);
            return Err(refusal);
        }
        let now = self.advance(now);
        let found = self.find_newest(self.preferred(wish), now);
        Ok(found.map(|found| {
            let ticket = self.next_ticket();
            self.lend_found(found, ticket, now, effects)
        }))
    }

    /// The same for a request that was lent a dead worker, whose slot it holds. It looks at all that
    /// is idle before it destroys that worker and goes to the line.
    ///
    /// Runs user code before the first change, as [`enter`](Self::enter) does.
    pub(crate) fn lend_again(
        &mut self,
        wish: Wish<'_, K>,
        (ticket, held): (Ticket, &Slot),
        standing: &mut Standing,
        now: u64,
        serves: impl Fn(&V, &K) -> bool,
        effects: &mut Effects<K, V, B>,
    ) -> Option<Lent<V>> {
        if self.is_cleared(held) {
            return None;
        }
        let now = self.advance(now);
        let found = self.find_idle(wish, now, serves)?;
        self.tally.open().serve_at_once(standing);
        Some(self.lend_found(found, ticket, now, effects))
    }

    /// Lends whatever idle worker fits, if it has been idle for less than `fresh` nanoseconds, or ends
    /// the request. It has its ticket if it was lent a dead worker before.
    ///
    /// Runs user code before the first change, as [`enter`](Self::enter) does.
    pub(crate) fn try_lend(
        &mut self,
        wish: Wish<'_, K>,
        (ticket, standing): (Option<Ticket>, &mut Standing),
        (now, fresh): (u64, u64),
        serves: impl Fn(&V, &K) -> bool,
        effects: &mut Effects<K, V, B>,
    ) -> Result<Option<Lent<V>>, Refusal> {
        if let Some(refusal) = self.shut {
            self.tally.open().end_early(ticket, standing, End::Refused);
            return Err(refusal);
        }
        let now = self.advance(now);
        let is_fresh = |&(bucket, index): &(BucketId, usize)| {
            now - self.buckets[bucket].idle[index].since < fresh
        };
        let own = self.find_newest(self.preferred(wish), now).filter(is_fresh);
        let found = own.or_else(|| self.find_stranger(wish, now, serves).filter(is_fresh));
        let Some(found) = found else {
            self.tally.open().end_early(ticket, standing, End::Refused);
            return Ok(None);
        };
        let ticket = ticket.unwrap_or_else(|| self.next_ticket());
        self.tally.open().serve_at_once(standing);
        Ok(Some(self.lend_found(found, ticket, now, effects)))
    }

    /// Takes an idle worker that fits, or joins the line and is served from there.
    ///
    /// Runs a key's `Eq` and `serves` before the first change: if one of them panics, nothing has
    /// happened.
    pub(crate) fn enter(
        &mut self,
        mut entry: Entry<'_, K, B>,
        now: u64,
        serves: impl Fn(&V, &K) -> bool,
        effects: &mut Effects<K, V, B>,
    ) -> Result<Entered<V>, Refusal> {
        let mut given = entry.held.iter().map(Slot::generation).chain(entry.buried);
        if given.any(|generation| generation < self.cleared) {
            self.tally.open().fail(entry.standing, End::Cleared);
            return Err(self.ended());
        }
        if let Some(refusal) = self.shut {
            self.tally.open().end_early(entry.ticket, entry.standing, refusal.into());
            return Err(refusal);
        }
        let now = self.advance(now);
        let home = self.home(entry.wish);
        let found = self.find_idle(entry.wish, now, serves);

        let ticket = entry.ticket.unwrap_or_else(|| self.next_ticket());
        self.tally.open().resume(entry.standing);
        let left = entry.held.drain(..).filter_map(|slot| self.close_slot(slot));
        let left: Vec<_> = left.collect();
        // Where buckets are apart, the slots held were of the bucket asked for.
        let (entered, scope) = match found {
            Some(found) => {
                let lent = self.lend_found(found, ticket, now, effects);
                self.tally.open().serve_at_once(entry.standing);
                (Entered::Lent(lent), Some(found.0))
            }
            None => {
                let waiter = self.join(home, &mut entry, ticket);
                let scope = self.waiters[waiter].lane.bucket();
                // Whoever needs the slot of an idle worker gets one that has to go anyway.
                self.settle(scope, effects);
                let room = self.doom_expired(scope, now, effects);
                if entry.ticket.is_none() {
                    let stays = self.turn_away(waiter, room, entry.bell, effects);
                    stays.inspect_err(|_| self.tally.open().fail(entry.standing, End::Refused))?;
                }
                (Entered::Waits(waiter), scope)
            }
        };
        self.settle(scope, effects);
        if let Entered::Waits(id) = entered {
            let newcomer = &mut self.waiters[id];
            newcomer.waits = matches!(newcomer.state, WaiterState::Queued);
        }
        for bucket in left {
            self.sweep(bucket, effects);
        }
        Ok(entered)
    }

    /// Takes what a waiter was given; `None` if that is nothing yet.
    ///
    /// `heard`: the time, whether an option needs it or not.
    pub(crate) fn collect(
        &mut self,
        id: WaiterId,
        standing: &mut Standing,
        (now, heard): (u64, u64),
    ) -> Option<Grant<V>> {
        let now = self.advance(now);
        let Waiter { waits, since, .. } = *self.waiters.get(id)?;
        let mut grant = self.take_grant(id);
        match &mut grant {
            Some(Grant::Worker(_, slot)) => {
                if let Some(record) = slot.record {
                    self.records.lend(record, now);
                }
                self.tally.open().serve(standing, How::AfterWaiting);
            }
            Some(Grant::Create(slot)) => self.begin_creation(slot),
            Some(Grant::Refused(refusal)) => {
                self.tally.open().fail(standing, (*refusal).into());
                return grant;
            }
            Some(Grant::Outdated(..)) => {}
            None => return grant,
        }
        if waits {
            self.tally.open().waits.record(heard.saturating_sub(since));
        }
        grant
    }

    fn take_grant(&mut self, id: WaiterId) -> Option<Grant<V>> {
        if matches!(self.waiters.get(id)?.state, WaiterState::Queued) {
            return None;
        }
        match self.waiters.remove(id)?.state {
            WaiterState::Queued => None,
            WaiterState::Handed(place) => {
                let (value, slot) = self.parked.remove(place)?;
                Some(match self.is_current(&slot) {
                    true => Grant::Worker(value, slot),
                    false => {
                        let reason = self.reason_of_before(&slot);
                        Grant::Outdated(value, slot.because(reason))
                    }
                })
            }
            WaiterState::Granted(slot) => Some(Grant::Create(slot)),
            WaiterState::Refused(refusal) => Some(Grant::Refused(refusal)),
        }
    }

    /// Ends a request that was not collected. A worker that had been handed to it must be given
    /// back under the same lock; its bell, if it never rang, is to be dropped outside.
    pub(crate) fn cancel(
        &mut self,
        id: WaiterId,
        effects: &mut Effects<K, V, B>,
    ) -> (Option<(V, Slot)>, Option<B>) {
        let Some(waiter) = self.waiters.get(id) else {
            return (None, None);
        };
        if matches!(waiter.state, WaiterState::Queued) {
            let lane = self.leave(id);
            let bell = self.waiters.remove(id).and_then(|waiter| waiter.bell);
            // A promise that it leaves behind counted against the limit on creations.
            self.settle(lane.bucket(), effects);
            if let Some(bucket) = lane.bucket() {
                self.sweep(bucket, effects);
            }
            return (None, bell);
        }
        match self.take_grant(id) {
            Some(Grant::Worker(value, slot) | Grant::Outdated(value, slot)) => {
                (Some((value, slot)), None)
            }
            Some(Grant::Create(mut slot)) => {
                slot.has_not_begun();
                self.free(slot, None, effects);
                (None, None)
            }
            Some(Grant::Refused(_)) | None => (None, None),
        }
    }

    /// The bucket whose newest idle worker the request would take before any other.
    #[inline]
    fn preferred(&self, wish: Wish<'_, K>) -> Option<BucketId> {
        match wish {
            Wish::Any | Wish::AnyOnceRoom { .. } => self.recency.as_ref()?.newest(),
            Wish::Sole | Wish::Of { .. } => self.home(wish),
        }
    }

    /// The bucket, if it exists, in which the request would wait.
    #[inline]
    pub(super) fn home(&self, wish: Wish<'_, K>) -> Option<BucketId> {
        match wish {
            Wish::Sole => self.buckets.sole(),
            Wish::Of { hash, key } | Wish::AnyOnceRoom { hash, key } => {
                self.buckets.find(hash, key)
            }
            Wish::Any => None,
        }
    }

    #[inline]
    fn lend_found(
        &mut self,
        (bucket, index): (BucketId, usize),
        ticket: Ticket,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) -> Lent<V> {
        let Idle { value, since, record, .. } = self.take_idle(bucket, index);
        let mut slot = self.live_slot(bucket, record);
        let is_spent = self.is_elaborate && self.note_loan(bucket, record, now, effects);
        if is_spent {
            slot = slot.because(PoolDestroyReason::Lifetime);
        }
        Lent { value, slot, ticket, rested: now - since, is_spent }
    }

    /// Says whether the worker has been lent though it is too old.
    fn note_loan(
        &mut self,
        bucket: BucketId,
        record: Option<Index>,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) -> bool {
        let is_spent = record.is_some_and(|record| self.records.is_over(record, now));
        if let Some(record) = record {
            self.records.lend(record, now);
        }
        self.doom_expired(Some(bucket), now, effects);
        self.alert(effects);
        is_spent
    }

    fn find_idle(
        &self,
        wish: Wish<'_, K>,
        now: u64,
        serves: impl Fn(&V, &K) -> bool,
    ) -> Option<(BucketId, usize)> {
        let own = self.find_newest(self.preferred(wish), now);
        own.or_else(|| self.find_stranger(wish, now, serves))
    }

    #[inline]
    fn find_newest(&self, bucket: Option<BucketId>, now: u64) -> Option<(BucketId, usize)> {
        let bucket = bucket?;
        let idle = &self.buckets[bucket].idle;
        let newest = idle.back()?;
        (!self.has_expired(newest.since, now)).then(|| (bucket, idle.len() - 1))
    }

    /// The most recently returned worker of another bucket that serves the key asked for.
    fn find_stranger(
        &self,
        wish: Wish<'_, K>,
        now: u64,
        serves: impl Fn(&V, &K) -> bool,
    ) -> Option<(BucketId, usize)> {
        let (Wish::Of { key, .. }, Some(_), Some(recency)) = (wish, &self.commons, &self.recency)
        else {
            return None;
        };
        for (place, bucket) in recency.newest_first() {
            let idle = &self.buckets[bucket].idle;
            let is_older =
                |idle: &Idle<V>| idle.place.is_some_and(|it| recency.is_older(it, place));
            let index = idle.partition_point(is_older);
            // Those that are older still have expired as well.
            if self.has_expired(idle[index].since, now) {
                return None;
            }
            if serves(&idle[index].value, key) {
                return Some((bucket, index));
            }
        }
        None
    }

    fn join(
        &mut self,
        home: Option<BucketId>,
        entry: &mut Entry<'_, K, B>,
        ticket: Ticket,
    ) -> WaiterId {
        let home = home.or_else(|| match entry.wish {
            Wish::Sole | Wish::Any => None,
            Wish::Of { hash, .. } | Wish::AnyOnceRoom { hash, .. } => {
                let key = entry.spare_key.take().expect("a request for a key brings a spare");
                Some(self.buckets.insert(hash, key))
            }
        });
        let lane = match (home, entry.wish) {
            (None, _) => Lane::Any,
            (Some(bucket), Wish::AnyOnceRoom { .. }) => Lane::AnyOnceRoom(bucket),
            (Some(bucket), _) => Lane::Of(bucket),
        };
        let bell = entry.bell.take().expect("a request brings a bell");
        self.line_up(Waiter::new(ticket, lane, bell, (entry.since, entry.deadline)))
    }

    /// Takes a newcomer out of the line again that would have to wait beside as many as may. Of those
    /// in it, `room` will be served as soon as what has expired is destroyed.
    fn turn_away(
        &mut self,
        id: WaiterId,
        room: usize,
        bell: &mut Option<B>,
        effects: &mut Effects<K, V, B>,
    ) -> Result<(), Refusal> {
        let waiter = &self.waiters[id];
        if waiter.promised || !matches!(waiter.state, WaiterState::Queued) {
            return Ok(());
        }
        // Those do not wait for whom a creation goes on, whoever of them will get its worker.
        let bucket = waiter.lane.bucket();
        let waiting = self.counts_around(bucket).waiting.saturating_sub(self.apart_around(bucket));
        if waiting <= self.rules.waiting_limit.saturating_add(room) {
            return Ok(());
        }
        let waiting = waiting - 1;
        let bucket = self.leave(id).bucket();
        *bell = self.waiters.remove(id).and_then(|waiter| waiter.bell);
        if let Some(bucket) = bucket {
            self.sweep(bucket, effects);
        }
        Err(Refusal::Full { waiting })
    }
}
