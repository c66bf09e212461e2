use std::collections::VecDeque;

use super::{Slot, Ticket};

/// What an event asks its caller to do once the lock is released: ring first, destroy after.
#[derive(Debug)]
#[must_use]
pub(crate) struct Effects<K, V, B> {
    /// Bells of requests and clears that have something to collect.
    pub(crate) rings: Vec<B>,
    /// Workers that leave the pool. Each keeps its slot until [`Scheduler::free`] is told.
    ///
    /// [`Scheduler::free`]: super::Scheduler::free
    pub(crate) doomed: VecDeque<Doomed<V>>,
    /// Keys of buckets that are no more, for their destructor must not run under the lock.
    pub(crate) keys: Vec<K>,
}

/// A worker to destroy, its slot, and the request that its slot was cleared for.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Doomed<V> {
    pub(crate) value: V,
    pub(crate) slot: Slot,
    pub(crate) heir: Option<Ticket>,
}

impl<K, V, B> Effects<K, V, B> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { rings: Vec::new(), doomed: VecDeque::new(), keys: Vec::new() }
    }

    /// Whether there is nothing to do, as on a warm pool.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rings.is_empty() && self.doomed.is_empty() && self.keys.is_empty()
    }

    pub(super) fn doom(&mut self, value: V, slot: Slot, heir: Option<Ticket>) {
        self.doomed.push_back(Doomed { value, slot, heir });
    }
}
