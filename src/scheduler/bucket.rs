use std::collections::{BTreeSet, VecDeque};
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;

use super::Ticket;

/// Names a bucket without asking its key: the hash finds it, the serial number tells it apart from
/// an earlier bucket of an equal key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketId {
    hash: u64,
    serial: u64,
}

/// Everything that the scheduler knows of one key.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Bucket<K, V> {
    pub(super) key: K,
    id: BucketId,
    /// Workers that live, in or out of the pool, and creations under way.
    pub(super) slots: usize,
    /// Those of `slots` that are creations.
    pub(super) creating: usize,
    /// Slots being cleared for requests in `line`.
    pub(super) promised: usize,
    /// Front: least recently used. Back: most recently.
    pub(super) idle: VecDeque<Idle<V>>,
    /// Queued requests for this key.
    pub(super) line: BTreeSet<Ticket>,
    /// Queued requests for any key that may create again when this bucket has room.
    pub(super) bounced: BTreeSet<Ticket>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Idle<V> {
    pub(super) value: V,
    /// When it was returned, in nanoseconds; 0 where no clock is read.
    pub(super) since: u64,
    /// The how-manieth return to the idle workers of the whole scheduler it was.
    pub(super) order: u64,
    /// Where it stands in the order across buckets, if there is one.
    pub(super) place: Option<usize>,
}

impl<K, V> Bucket<K, V> {
    fn new(key: K, id: BucketId) -> Self {
        Self {
            key,
            id,
            slots: 0,
            creating: 0,
            promised: 0,
            idle: VecDeque::new(),
            line: BTreeSet::new(),
            bounced: BTreeSet::new(),
        }
    }

    fn is_needed(&self) -> bool {
        self.slots > 0 || !self.line.is_empty() || !self.bounced.is_empty()
    }

    pub(super) fn id(&self) -> BucketId {
        self.id
    }

    #[inline]
    pub(super) fn push_idle(&mut self, idle: Idle<V>) {
        if self.idle.is_empty() {
            // Most buckets of a keyed pool never hold more than one.
            self.idle.reserve_exact(1);
        }
        self.idle.push_back(idle);
    }

    #[inline]
    pub(super) fn take_idle(&mut self, index: usize) -> Idle<V> {
        let idle = self.idle.remove(index).expect("the index was found under the same lock");
        if is_sparse(self.idle.len(), self.idle.capacity()) {
            self.idle.shrink_to(self.idle.len() * 2);
        }
        idle
    }
}

/// Whether a collection keeps far more room than it needs: a crowd has gone, and must not keep it.
/// A small one is not worth shrinking.
pub(super) fn is_sparse(len: usize, capacity: usize) -> bool {
    capacity > 32 && len < capacity / 8
}

const SOLE: BucketId = BucketId { hash: 0, serial: 0 };

/// The buckets that exist. None is kept that nothing needs, but for the sole one.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Buckets<K, V> {
    sole: Option<Bucket<K, V>>,
    table: HashTable<Box<Bucket<K, V>>>,
    last_serial: u64,
}

impl<K, V> Buckets<K, V> {
    pub(super) fn new(sole: Option<K>) -> Self {
        Self {
            sole: sole.map(|key| Bucket::new(key, SOLE)),
            table: HashTable::new(),
            last_serial: SOLE.serial,
        }
    }

    pub(super) fn sole(&self) -> Option<BucketId> {
        self.sole.as_ref().map(Bucket::id)
    }

    pub(super) fn ids(&self) -> Vec<BucketId> {
        let table = self.table.iter().map(|bucket| &**bucket);
        self.sole.iter().chain(table).map(Bucket::id).collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Bucket<K, V>> {
        self.sole.iter_mut().chain(self.table.iter_mut().map(|bucket| &mut **bucket))
    }

    pub(super) fn insert(&mut self, hash: u64, key: K) -> BucketId {
        self.last_serial += 1;
        let id = BucketId { hash, serial: self.last_serial };
        self.table.insert_unique(hash, Box::new(Bucket::new(key, id)), |bucket| bucket.id.hash);
        id
    }

    /// Removes the bucket if nothing needs it, and returns its key.
    pub(super) fn sweep(&mut self, id: BucketId) -> Option<K> {
        if id == SOLE {
            return None;
        }
        let entry = self.table.find_entry(id.hash, |bucket| bucket.id == id).ok()?;
        if entry.get().is_needed() {
            return None;
        }
        let (bucket, _) = entry.remove();
        if is_sparse(self.table.len(), self.table.capacity()) {
            self.table.shrink_to(self.table.len() * 2, |bucket| bucket.id.hash);
        }
        Some(bucket.key)
    }
}

impl<K: Eq, V> Buckets<K, V> {
    /// Compares keys: the one place where the scheduler runs a key's code.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &K) -> Option<BucketId> {
        let found = self.table.find(hash, |bucket| bucket.id.hash == hash && bucket.key == *key);
        found.map(|bucket| bucket.id)
    }
}

/// Whoever holds a [`BucketId`] also holds, or found in the books, what keeps the bucket needed.
const NEEDED: &str = "a slot, a waiter or an idle worker keeps its bucket in being";

impl<K, V> Index<BucketId> for Buckets<K, V> {
    type Output = Bucket<K, V>;

    fn index(&self, id: BucketId) -> &Self::Output {
        match &self.sole {
            Some(sole) => sole,
            None => self.table.find(id.hash, |bucket| bucket.id == id).expect(NEEDED),
        }
    }
}

impl<K, V> IndexMut<BucketId> for Buckets<K, V> {
    fn index_mut(&mut self, id: BucketId) -> &mut Self::Output {
        match &mut self.sole {
            Some(sole) => sole,
            None => self.table.find_mut(id.hash, |bucket| bucket.id == id).expect(NEEDED),
        }
    }
}
