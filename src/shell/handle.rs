use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, iter, mem};

use super::acquire::{Hashed, Request};
use super::aftermath::Aftermath;
use super::hasher::Hasher;
use super::{Shell, Trade};
use crate::limits::Limits;
use crate::scheduler::{ClearId, Counts};

/// A pool's hold on its shells. Guards share them, but not this: when the pool is dropped, idle
/// workers go at once, and those that are out as they come back.
///
/// Where buckets are apart the pool is in parts, each with a shell and a lock of its own, so that
/// threads that use different keys seldom meet. A key belongs to one part; no rule goes across them
/// but that a clear is one for all.
pub(crate) struct Handle<T: Trade> {
    parts: Box<[Arc<Shell<T>>]>,
    hasher: Hasher,
    last_clear: AtomicU64,
}

impl<T: Trade> Handle<T> {
    /// `sole` is the key of the one bucket of a pool that has no keys.
    pub(crate) fn new(trade: T, limits: Limits, sole: Option<T::Key>) -> Self {
        let hasher = Hasher::default();
        Self::of(Box::new([Shell::new(trade, hasher.clone(), &limits, sole)]), hasher)
    }

    /// A pool in this many parts.
    pub(crate) fn in_parts(count: usize, trade: T, limits: Limits) -> Self
    where
        T: Clone,
    {
        let hasher = Hasher::default();
        let trades = iter::repeat_n(trade, count);
        let parts = trades.map(|trade| Shell::new(trade, hasher.clone(), &limits, None));
        Self::of(parts.collect(), hasher)
    }

    fn of(parts: Box<[Arc<Shell<T>>]>, hasher: Hasher) -> Self {
        Self { parts, hasher, last_clear: AtomicU64::new(0) }
    }

    pub(super) fn parts(&self) -> &[Arc<Shell<T>>] {
        &self.parts
    }

    /// The one part of a pool that is not divided.
    #[inline]
    pub(crate) fn whole(&self) -> &Arc<Shell<T>> {
        &self.parts[0]
    }

    /// A request for this key, and the part to which it belongs.
    #[inline]
    pub(crate) fn request_of(&self, key: T::Key) -> (&Arc<Shell<T>>, Request<T::Key>) {
        let hashed = Hashed::new(key, &self.hasher);
        // The lower bits find the key within its part.
        let part = (hashed.hash >> 32) as usize % self.parts.len();
        (&self.parts[part], Request::Of(hashed))
    }

    pub(super) fn next_clear(&self) -> ClearId {
        ClearId(self.last_clear.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn cleanup_idle(&self) -> usize {
        let mut count = 0;
        let mut aftermath = Aftermath::default();
        for part in &self.parts {
            let (expired, later) = part.expire();
            count += expired;
            aftermath.then(later);
        }
        aftermath.resume();
        count
    }
}

impl<T: Trade> Drop for Handle<T> {
    fn drop(&mut self) {
        let mut aftermath = Aftermath::default();
        for part in mem::take(&mut self.parts) {
            aftermath.then(part.dissolve());
            // The last one out drops the factory.
            aftermath.run(|| drop(part));
        }
        aftermath.resume();
    }
}

impl<T: Trade> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Option<Vec<_>> = self.parts.iter().map(|part| part.counts()).collect();
        match counts {
            Some(counts) => counts.into_iter().sum::<Counts>().fmt(f),
            None => f.write_str("<locked>"),
        }
    }
}
