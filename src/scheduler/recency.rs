use super::arena::Arena;
use super::{BucketId, Index};

/// Idle workers of all buckets in the order of their return, linked to each other: to add the newest
/// and to remove any takes a few index operations.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Recency {
    nodes: Arena<Node>,
    oldest: Option<Index>,
    newest: Option<Index>,
    last_return: u64,
}

/// An idle worker: the bucket in which it lies, and the how-manieth return it was.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Node {
    bucket: BucketId,
    order: u64,
    older: Option<Index>,
    newer: Option<Index>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self { nodes: Arena::new(), oldest: None, newest: None, last_return: 0 }
    }

    /// Adds the newest. The index that is returned removes it.
    #[inline]
    pub(super) fn push(&mut self, bucket: BucketId) -> Index {
        self.last_return += 1;
        let node = Node { bucket, order: self.last_return, older: None, newer: None };
        let index = self.nodes.insert(node);
        self.link(self.newest, Some(index));
        self.newest = Some(index);
        index
    }

    /// Adds one again that was removed, where it stood.
    pub(super) fn restore(&mut self, bucket: BucketId, order: u64) -> Index {
        let is_younger = |index: &Index| self.nodes[*index].order > order;
        let mut indexes = std::iter::successors(self.oldest, |&index| self.nodes[index].newer);
        let newer = indexes.find(is_younger);
        let older = newer.map_or(self.newest, |newer| self.nodes[newer].older);
        let index = self.nodes.insert(Node { bucket, order, older: None, newer: None });
        self.link(older, Some(index));
        self.link(Some(index), newer);
        index
    }

    /// The how-manieth return it was.
    pub(super) fn order(&self, index: Index) -> u64 {
        self.nodes[index].order
    }

    #[inline]
    pub(super) fn remove(&mut self, index: Index) {
        if let Some(Node { older, newer, .. }) = self.nodes.remove(index) {
            self.link(older, newer);
        }
    }

    /// Makes two neighbours; `None` stands for the end.
    #[inline]
    fn link(&mut self, older: Option<Index>, newer: Option<Index>) {
        match older {
            Some(older) => self.nodes[older].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.nodes[newer].older = older,
            None => self.newest = older,
        }
    }

    /// The bucket of the least recently used.
    pub(super) fn oldest(&self) -> Option<BucketId> {
        self.oldest.map(|index| self.nodes[index].bucket)
    }

    /// The bucket of the most recently returned.
    #[inline]
    pub(super) fn newest(&self) -> Option<BucketId> {
        self.newest.map(|index| self.nodes[index].bucket)
    }

    /// All of them with their buckets, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = (Index, BucketId)> {
        let indexes = std::iter::successors(self.newest, |&index| self.nodes[index].older);
        indexes.map(|index| (index, self.nodes[index].bucket))
    }

    pub(super) fn is_older(&self, index: Index, other: Index) -> bool {
        self.nodes[index].order < self.nodes[other].order
    }
}
