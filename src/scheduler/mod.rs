//! The scheduler: who gets which worker or slot, in which order, in all three pools.
//!
//! A plain state machine. It knows no lock, no clock, no runtime and no trait of the user's, and
//! never drops or asks a worker: each event is one call, which answers and adds to [`Effects`] what
//! the caller must do when it has released the lock. `K` is the key of a bucket, `V` a worker with
//! whatever is kept beside it, `B` a bell that wakes a waiter.
//!
//! How to drive it:
//!
//! 1. A request calls [`lend`](Scheduler::lend); where nothing idle fits at once, it prepares a
//!    bell (and a key, should the bucket be new) and calls [`enter`](Scheduler::enter).
//! 2. When its bell rings it calls [`collect`](Scheduler::collect), or [`cancel`](Scheduler::cancel)
//!    at any time before.
//! 3. Whoever may create calls [`created`](Scheduler::created), or [`free`](Scheduler::free) if
//!    nothing came of it.
//! 4. A worker comes back by [`plan_return`](Scheduler::plan_return), which only reads, and
//!    [`commit_return`](Scheduler::commit_return), under the same lock.
//! 5. A worker that was destroyed, for whatever reason, is reported to [`free`](Scheduler::free)
//!    after its destructor has returned, for until then it owns its slot.
//!
//! Every [`Slot`] that the scheduler gives out must come back to it exactly once.

mod acquire;
mod apart;
mod arena;
mod bucket;
mod clear;
mod commons;
mod counts;
mod deadline;
mod effects;
mod held;
mod idle;
mod invalidate;
mod keeper;
mod lane;
mod line;
mod recency;
mod record;
mod release;
mod resize;
mod retain;
mod rules;
mod settle;
mod stamp;
mod tally;
mod waiter;

#[cfg(any(test, fuzzing))]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::arena::{Arena, Index};
use self::bucket::{Bucket, Buckets};
use self::commons::Commons;
use self::keeper::Keeper;
use self::line::Waiters;
use self::recency::Recency;
use self::record::Records;
use self::stamp::{Stage, Stamp};
use self::tally::LazyTally;
use self::waiter::Waiter;

use crate::PoolDestroyReason;

pub(crate) use self::acquire::{Entered, Entry, Grant, Lent, Wish};
pub(crate) use self::bucket::BucketId;
pub(crate) use self::clear::ClearId;
pub(crate) use self::counts::{Counts, Phase};
pub(crate) use self::effects::{Doomed, Effect, Effects};
pub(crate) use self::held::Held;
pub(crate) use self::record::{Life, Record};
pub(crate) use self::release::{Arrival, Birth, ReturnPlan};
pub(crate) use self::retain::Taken;
pub(crate) use self::rules::{Rules, Sharing};
pub(crate) use self::tally::{End, How, Standing, Tally};
#[cfg(fuzzing)]
pub(crate) use self::tests::bytes::live;
pub(crate) use self::waiter::{Lane, Ticket, WaiterId};

/// One unit of counted capacity, from before a creation until after the worker's destructor.
///
/// It cannot be copied, so that it cannot be freed twice.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
#[must_use]
pub(crate) struct Slot {
    /// The bucket to which the worker belongs or, while it is created, is expected to; `None`: any.
    bucket: Option<BucketId>,
    /// What is kept of the worker, if anything is.
    record: Option<Index>,
    stamp: Stamp,
}

impl Slot {
    #[inline]
    fn stage(&self) -> Stage {
        self.stamp.stage()
    }

    /// The scheduler's when the slot was given out.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.stamp.generation()
    }

    #[inline]
    fn set_stage(&mut self, stage: Stage) {
        self.stamp = Stamp::new(self.generation(), stage);
    }

    fn set_generation(&mut self, generation: u64) {
        self.stamp = Stamp::new(generation, self.stage());
    }

    /// Says why the worker in it goes.
    pub(crate) fn because(mut self, reason: PoolDestroyReason) -> Self {
        self.stamp = self.stamp.because(reason);
        self
    }

    pub(crate) fn reason(&self) -> PoolDestroyReason {
        self.stamp.reason()
    }

    /// Says that a creation begins in it, be it another one.
    pub(crate) fn begins(&mut self) {
        if self.stage() == Stage::Vain {
            self.set_stage(Stage::Creating);
        }
    }

    /// Says that nothing came of the creation in it.
    pub(crate) fn has_failed(&mut self) {
        if self.stage() == Stage::Creating {
            self.set_stage(Stage::Failed);
        }
    }

    /// Says that the creation in it did not even begin.
    pub(crate) fn has_not_begun(&mut self) {
        if self.stage() == Stage::Creating {
            self.set_stage(Stage::Vain);
        }
    }
}

/// What a request is refused with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It came while the pool was being cleared.
    Clearing,
    /// It was under way when a clear began.
    Cleared,
    /// The pool is closed for good.
    Closed,
    /// As many wait as may.
    Full { waiting: usize },
    /// It has waited long enough.
    TimedOut,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Scheduler<K, V, B> {
    rules: Rules,
    /// How often all workers of before were given up. A slot of an earlier generation is never handed
    /// out again.
    generation: u64,
    /// The generation that the last clear began. Requests of an earlier one have ended.
    cleared: u64,
    /// Clears under way, with the bells that have not rung; while there is one, nothing is given out.
    clears: BTreeMap<ClearId, Option<B>>,
    /// Why nothing is given out, if so.
    shut: Option<Refusal>,
    /// Whether there is more to see to than workers and requests: their times, their records, a keeper.
    /// Most pools have nothing of that, and find it out at one look.
    is_elaborate: bool,
    /// Slots of all buckets, and of creations for none in particular.
    slots: usize,
    /// Those of `slots` that are creations, for a known bucket or not.
    creating: usize,
    /// Those of `slots` whose workers the scheduler itself has given up and that are being destroyed.
    leaving: usize,
    /// Creations that go on apart from the requests for which they were begun.
    apart: usize,
    /// Idle workers of all buckets.
    idle: usize,
    /// Workers that were idle, and were taken out to be asked.
    asked: usize,
    last_ticket: u64,
    /// The latest time that an event has brought.
    latest: u64,
    buckets: Buckets<K, V>,
    waiters: Waiters<B>,
    /// Of those that stand in a line, the earliest first.
    deadlines: BTreeSet<(u64, WaiterId)>,
    records: Records,
    /// Workers handed to a waiter that has not collected them.
    parked: Arena<(V, Slot)>,
    /// Idle workers of all buckets by their return, where an order across buckets matters.
    recency: Option<Recency>,
    commons: Option<Box<Commons>>,
    keeper: Option<Keeper<B>>,
    tally: LazyTally,
}

impl<K, V, B> Scheduler<K, V, B> {
    /// A scheduler without workers; `sole` is the key of the one bucket of [`Sharing::Sole`].
    pub(crate) fn new(rules: Rules, sole: Option<K>) -> Self {
        debug_assert_eq!(sole.is_some(), rules.sharing == Sharing::Sole);
        let commons = match rules.sharing {
            Sharing::Target(target) => Some(Box::new(Commons::new(target))),
            Sharing::Sole | Sharing::Apart => None,
        };
        Self {
            rules,
            generation: 0,
            cleared: 0,
            clears: BTreeMap::new(),
            shut: None,
            is_elaborate: rules.idle_timeout.is_some(),
            slots: 0,
            creating: 0,
            leaving: 0,
            apart: 0,
            idle: 0,
            asked: 0,
            last_ticket: 0,
            latest: 0,
            buckets: Buckets::new(sole),
            waiters: Waiters::new(),
            deadlines: BTreeSet::new(),
            records: Records::default(),
            parked: Arena::new(),
            recency: rules.orders_across().then(Recency::new),
            commons,
            keeper: None,
            tally: LazyTally::default(),
        }
    }

    /// Whether there is one bucket for good.
    pub(crate) fn has_sole(&self) -> bool {
        self.buckets.sole().is_some()
    }

    /// Whether anything is given out.
    pub(crate) fn is_open(&self) -> bool {
        self.shut.is_none()
    }

    #[inline]
    fn check_open(&self) -> Result<(), Refusal> {
        match self.shut {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// Changes what the indexes over the lanes depend on.
    fn change<R>(
        &mut self,
        id: BucketId,
        change: impl FnOnce(&mut Bucket<K, V>, &mut Waiters<B>) -> R,
    ) -> R {
        let (bucket, waiters) = (&mut self.buckets[id], &mut self.waiters);
        match &mut self.commons {
            None => change(bucket, waiters),
            Some(commons) => {
                commons.unfile(bucket, waiters);
                let result = change(bucket, waiters);
                commons.file(bucket, waiters, self.rules.bucket_limit);
                result
            }
        }
    }

    /// Counts a new creation.
    fn open_slot(&mut self, bucket: Option<BucketId>) -> Slot {
        self.slots += 1;
        self.creating += 1;
        if let Some(id) = bucket {
            self.change(id, |bucket, _| {
                bucket.slots += 1;
                bucket.creating += 1;
            });
        }
        let stamp = Stamp::new(self.generation, Stage::Granted);
        let mut slot = Slot { bucket, record: None, stamp };
        if !self.rules.creates_apart {
            slot.set_stage(Stage::Creating);
        }
        slot
    }

    /// Uncounts a slot, whose bucket may now be swept.
    fn close_slot(&mut self, mut slot: Slot) -> Option<BucketId> {
        self.count_end(&slot);
        let was_leaving = usize::from(slot.stage() == Stage::Leaving);
        let was_creation = usize::from(self.end_creation(&mut slot));
        self.slots -= 1;
        self.creating -= was_creation;
        self.leaving -= was_leaving;
        if let Some(id) = slot.bucket {
            self.change(id, |bucket, _| {
                bucket.slots -= 1;
                bucket.creating -= was_creation;
                bucket.leaving -= was_leaving;
            });
        }
        if let Some(record) = slot.record {
            self.records.remove(record);
        }
        self.fall_back(slot.bucket);
        slot.bucket
    }

    fn sweep(&mut self, id: BucketId, effects: &mut Effects<K, V, B>) {
        if let Some(key) = self.buckets.sweep(id) {
            effects.drop_key(key);
        }
    }
}
