use slab::Slab;

use super::BucketId;
use super::bucket::is_sparse;
use super::compact::Compact;

/// Idle workers of all buckets in the order of their return.
///
/// A linked list in a slab: to add the newest and to remove any takes a few index operations, and
/// nothing is allocated while the number of idle workers stays within what it was.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Recency {
    nodes: Slab<Node>,
    oldest: Option<Place>,
    newest: Option<Place>,
}

/// Where an idle worker stands in the order.
pub(super) type Place = Compact;

/// An idle worker: the bucket in which it lies, and the number of its return.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Node {
    bucket: BucketId,
    order: u64,
    older: Option<Place>,
    newer: Option<Place>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self { nodes: Slab::new(), oldest: None, newest: None }
    }

    /// Adds the newest. The place that is returned removes it.
    #[inline]
    pub(super) fn push(&mut self, bucket: BucketId, order: u64) -> Place {
        let older = self.newest;
        let place = Place::new(self.nodes.insert(Node { bucket, order, older, newer: None }));
        match older {
            Some(older) => self.nodes[older.get()].newer = Some(place),
            None => self.oldest = Some(place),
        }
        self.newest = Some(place);
        place
    }

    #[inline]
    pub(super) fn remove(&mut self, place: Place) {
        let Node { older, newer, .. } = self.nodes.remove(place.get());
        match older {
            Some(older) => self.nodes[older.get()].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.nodes[newer.get()].older = older,
            None => self.newest = older,
        }
    }

    pub(super) fn is_sparse(&self) -> bool {
        is_sparse(self.nodes.len(), self.nodes.capacity())
    }

    /// The bucket of the least recently used.
    pub(super) fn oldest(&self) -> Option<BucketId> {
        self.oldest.map(|place| self.node(place).bucket)
    }

    /// The bucket of the most recently returned.
    #[inline]
    pub(super) fn newest(&self) -> Option<BucketId> {
        self.newest.map(|place| self.node(place).bucket)
    }

    /// All of them with the number of their return, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = (u64, BucketId)> {
        let newest = self.newest.map(|place| self.node(place));
        let nodes = std::iter::successors(newest, |node| Some(self.node(node.older?)));
        nodes.map(|node| (node.order, node.bucket))
    }

    fn node(&self, place: Place) -> &Node {
        &self.nodes[place.get()]
    }
}
