use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;

use super::arena::{Arena, is_sparse};
use super::line::Line;

/// Names a bucket without asking its key. Another bucket may have the name when this one is gone.
pub(crate) type BucketId = super::Index;

/// Everything that the scheduler knows of one key.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Bucket<K, V> {
    pub(super) key: K,
    hash: u64,
    id: BucketId,
    /// Workers that live, in or out of the pool, and creations under way.
    pub(super) slots: usize,
    /// Those of `slots` that are creations.
    pub(super) creating: usize,
    /// Those of `slots` whose workers the scheduler itself has given up.
    pub(super) leaving: usize,
    /// How many of those that are out have to go as they come back, where buckets have nothing to do
    /// with each other.
    pub(super) retiring: usize,
    /// Creations that go on apart from the requests for which they were begun.
    pub(super) apart: usize,
    /// Slots being cleared for requests in `line`.
    pub(super) promised: usize,
    /// Front: least recently used. Back: most recently.
    pub(super) idle: VecDeque<Idle<V>>,
    /// Queued requests for this key.
    pub(super) line: Line,
    /// Queued requests for any key that may create again when this bucket has room.
    pub(super) bounced: Line,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Idle<V> {
    pub(super) value: V,
    /// When it was returned, in nanoseconds; 0 where no clock is read.
    pub(super) since: u64,
    /// Where it stands in the order across buckets, if there is one.
    pub(super) place: Option<super::Index>,
    pub(super) record: Option<super::Index>,
}

impl<K, V> Bucket<K, V> {
    fn new(key: K, hash: u64, id: BucketId) -> Self {
        Self {
            key,
            hash,
            id,
            slots: 0,
            creating: 0,
            leaving: 0,
            retiring: 0,
            apart: 0,
            promised: 0,
            idle: VecDeque::new(),
            line: Line::default(),
            bounced: Line::default(),
        }
    }

    fn is_needed(&self) -> bool {
        self.slots > 0 || !self.line.is_empty() || !self.bounced.is_empty()
    }

    /// Whether more requests wait than creations go on for them.
    #[inline]
    pub(super) fn needs_creation(&self) -> bool {
        self.apart + self.promised < self.waiting()
    }

    /// How many requests wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.line.len() + self.bounced.len()
    }

    pub(super) fn id(&self) -> BucketId {
        self.id
    }

    #[inline]
    pub(super) fn push_idle(&mut self, idle: Idle<V>) {
        if self.idle.capacity() == 0 {
            // Most buckets of a keyed pool never hold more than one.
            self.idle.reserve_exact(1);
        }
        self.idle.push_back(idle);
    }

    pub(super) fn insert_idle(&mut self, index: usize, idle: Idle<V>) {
        self.idle.insert(index, idle);
    }

    #[inline]
    pub(super) fn take_idle(&mut self, index: usize) -> Idle<V> {
        let is_newest = index + 1 == self.idle.len();
        let idle = if is_newest { self.idle.pop_back() } else { self.idle.remove(index) };
        let idle = idle.expect("the index was found under the same lock");
        if is_sparse(self.idle.len(), self.idle.capacity()) {
            self.idle.shrink_to(self.idle.len() * 2);
        }
        idle
    }
}

/// The buckets that exist. None is kept that nothing needs, but for the sole one.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Buckets<K, V> {
    /// Boxed, for there may be many of them, and room for as many more.
    all: Arena<Box<Bucket<K, V>>>,
    /// By key; the sole one is not in it.
    by_key: HashTable<BucketId>,
    sole: Option<BucketId>,
}

impl<K, V> Buckets<K, V> {
    pub(super) fn new(sole: Option<K>) -> Self {
        let mut buckets = Self { all: Arena::new(), by_key: HashTable::new(), sole: None };
        buckets.sole = sole.map(|key| buckets.add(0, key));
        buckets
    }

    #[inline]
    pub(super) fn sole(&self) -> Option<BucketId> {
        self.sole
    }

    pub(super) fn ids(&self) -> Vec<BucketId> {
        self.all.iter().map(|bucket| bucket.id).collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Bucket<K, V>> {
        self.all.iter_mut().map(|bucket| &mut **bucket)
    }

    pub(super) fn insert(&mut self, hash: u64, key: K) -> BucketId {
        let id = self.add(hash, key);
        let Self { all, by_key, .. } = self;
        by_key.insert_unique(hash, id, |&id| all[id].hash);
        id
    }

    fn add(&mut self, hash: u64, key: K) -> BucketId {
        self.all.insert(Box::new(Bucket::new(key, hash, self.all.next())))
    }

    /// Removes the bucket if nothing needs it, and returns its key.
    pub(super) fn sweep(&mut self, id: BucketId) -> Option<K> {
        let Self { all, by_key, sole } = self;
        let bucket = all.get(id)?;
        if bucket.is_needed() || *sole == Some(id) {
            return None;
        }
        if let Ok(entry) = by_key.find_entry(bucket.hash, |other| *other == id) {
            entry.remove();
        }
        let bucket = all.remove(id)?;
        if is_sparse(by_key.len(), by_key.capacity()) {
            by_key.shrink_to(by_key.len() * 2, |&id| all[id].hash);
        }
        Some(bucket.key)
    }
}

impl<K: Eq, V> Buckets<K, V> {
    /// Compares keys: the one place where the scheduler runs a key's code.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &K) -> Option<BucketId> {
        let is_it = |bucket: &Bucket<K, V>| bucket.hash == hash && bucket.key == *key;
        self.by_key.find(hash, |&id| is_it(&self.all[id])).copied()
    }
}

/// Whoever holds a [`BucketId`] also holds, or found in the books, what keeps the bucket in being.
impl<K, V> Index<BucketId> for Buckets<K, V> {
    type Output = Bucket<K, V>;

    #[inline]
    fn index(&self, id: BucketId) -> &Self::Output {
        &self.all[id]
    }
}

impl<K, V> IndexMut<BucketId> for Buckets<K, V> {
    #[inline]
    fn index_mut(&mut self, id: BucketId) -> &mut Self::Output {
        &mut self.all[id]
    }
}
