//! What is kept of each worker where an option asks for it: its age, and how often it was used.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::arena::Arena;
use super::held::Hold;
use super::{BucketId, Index, Scheduler, Slot};
use crate::PoolDestroyReason;

/// What is kept of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// A number that no other worker has.
    pub(crate) id: u64,
    /// When it was created, in nanoseconds, as all times here.
    pub(crate) born: u64,
    /// When it was lent last.
    pub(crate) lent: u64,
    /// How often it was lent.
    pub(crate) uses: u64,
    /// When it is too old; `u64::MAX` for never.
    end: u64,
}

/// What a new worker brings.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) id: u64,
    /// What its key is called, if anybody wants to know.
    pub(crate) key: Option<Arc<str>>,
    /// How long it may live, in nanoseconds; `u64::MAX` for ever.
    pub(crate) span: u64,
}

/// A record, and what is kept beside it for people.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) key: Option<Arc<str>>,
    /// While somebody holds the worker.
    pub(super) hold: Option<Hold>,
}

#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Records {
    all: Arena<Entry>,
    /// The ends of idle workers, the earliest first, with the buckets in which they lie.
    ends: BTreeSet<(u64, Index, BucketId)>,
}

impl Records {
    /// Opens the record of a worker that is lent as soon as it is born.
    pub(super) fn open(&mut self, life: Life, now: u64) -> Index {
        let Life { id, key, span } = life;
        let end = now.saturating_add(span);
        let record = Record { id, born: now, lent: now, uses: 1, end };
        self.all.insert(Entry { record, key, hold: None })
    }

    pub(super) fn remove(&mut self, record: Index) {
        self.all.remove(record);
    }

    pub(super) fn lend(&mut self, record: Index, now: u64) {
        let record = &mut self.all[record].record;
        record.lent = now;
        record.uses += 1;
    }

    pub(super) fn forget_use(&mut self, record: Index) {
        self.all[record].record.uses -= 1;
    }

    /// Whether the worker is too old.
    pub(super) fn is_over(&self, record: Index, now: u64) -> bool {
        self.all[record].record.end <= now
    }

    /// Enters the end of a worker that has become idle.
    pub(super) fn rest(&mut self, record: Index, bucket: BucketId) {
        let end = self.all[record].record.end;
        if end < u64::MAX {
            self.ends.insert((end, record, bucket));
        }
    }

    pub(super) fn stir(&mut self, record: Index, bucket: BucketId) {
        self.ends.remove(&(self.all[record].record.end, record, bucket));
    }

    pub(super) fn entry(&self, record: Index) -> &Entry {
        &self.all[record]
    }

    pub(super) fn entry_mut(&mut self, record: Index) -> &mut Entry {
        &mut self.all[record]
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.all.iter()
    }

    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.all.iter_mut()
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many ends are entered.
    #[cfg(any(test, fuzzing))]
    pub(super) fn ends(&self) -> usize {
        self.ends.len()
    }

    /// The idle worker that is the first to be too old, and when that is.
    pub(super) fn first_end(&self) -> Option<(u64, Index, BucketId)> {
        self.ends.first().copied()
    }
}

impl<K, V, B> Scheduler<K, V, B> {
    /// What is kept of the worker in this slot.
    pub(crate) fn record(&self, slot: &Slot) -> Option<Record> {
        slot.record.map(|record| self.records.all[record].record)
    }

    /// Why a worker goes that is spent.
    pub(super) fn reason_of_spent(&self, slot: &Slot, now: u64) -> PoolDestroyReason {
        if slot.record.is_some_and(|record| self.records.is_over(record, now)) {
            PoolDestroyReason::Lifetime
        } else {
            PoolDestroyReason::Uses
        }
    }

    /// Whether the worker has been used as often, or has lived as long, as it may.
    pub(super) fn is_spent(&self, record: Index, now: u64) -> bool {
        self.records.all[record].record.uses >= self.rules.max_uses
            || self.records.is_over(record, now)
    }
}
