use slab::Slab;

use super::BucketId;
use super::bucket::is_sparse;

/// Idle workers of all buckets in the order of their return.
///
/// A linked list in a slab: to add the newest and to remove any takes a few index operations, and
/// nothing is allocated while the number of idle workers stays within what it was.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Recency {
    nodes: Slab<Node>,
    oldest: Option<usize>,
    newest: Option<usize>,
}

/// An idle worker: the bucket in which it lies, and the number of its return.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Node {
    bucket: BucketId,
    order: u64,
    older: Option<usize>,
    newer: Option<usize>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self { nodes: Slab::new(), oldest: None, newest: None }
    }

    /// Adds the newest. The index that is returned removes it.
    pub(super) fn push(&mut self, bucket: BucketId, order: u64) -> usize {
        let older = self.newest;
        let index = self.nodes.insert(Node { bucket, order, older, newer: None });
        match older {
            Some(older) => self.nodes[older].newer = Some(index),
            None => self.oldest = Some(index),
        }
        self.newest = Some(index);
        index
    }

    pub(super) fn remove(&mut self, index: usize) {
        let Node { older, newer, .. } = self.nodes.remove(index);
        match older {
            Some(older) => self.nodes[older].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.nodes[newer].older = older,
            None => self.newest = older,
        }
    }

    pub(super) fn is_sparse(&self) -> bool {
        is_sparse(self.nodes.len(), self.nodes.capacity())
    }

    /// The bucket of the least recently used.
    pub(super) fn oldest(&self) -> Option<BucketId> {
        self.oldest.map(|index| self.nodes[index].bucket)
    }

    /// The bucket of the most recently returned.
    pub(super) fn newest(&self) -> Option<BucketId> {
        self.newest.map(|index| self.nodes[index].bucket)
    }

    /// All of them with the number of their return, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = (u64, BucketId)> {
        let newest = self.newest.map(|index| &self.nodes[index]);
        let nodes = std::iter::successors(newest, |node| Some(&self.nodes[node.older?]));
        nodes.map(|node| (node.order, node.bucket))
    }
}
