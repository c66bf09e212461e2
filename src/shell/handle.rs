use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, iter, mem};

use tokio::sync::Notify;

use super::aftermath::Aftermath;
use super::hasher::Hasher;
use super::keeper::Keeper;
use super::lock::Lock;
use super::request::{Hashed, Request};
use super::watch::sorted;
use super::{BookEffects, Books, Shell, Trade};
use crate::error::invalid_config;
use crate::limits::{Limits, limit};
use crate::scheduler::{ClearId, Counts, Tally};
use crate::{PoolOutstanding, PoolResult, PoolRetained, PoolStatistics, PoolStatus};

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
    /// Whoever wants to know that the pool is closed.
    told_of_close: Notify,
}

impl<T: Trade> Handle<T> {
    /// `sole` is the key of the one bucket of a pool that has no keys.
    pub(crate) fn new(trade: T, limits: Limits, sole: Option<T::Key>) -> Self {
        let hasher = Hasher::default();
        let keeper = limits.keeper();
        let part = Shell::new(trade, hasher.clone(), &limits, sole, keeper.clone());
        let starts = limits.invalid.is_none() && limits.rules.reserve > 0;
        Self::of(Box::new([part]), hasher, keeper, starts)
    }

    /// A pool in this many parts.
    pub(crate) fn in_parts(count: usize, trade: T, limits: Limits) -> Self
    where
        T: Clone,
    {
        let hasher = Hasher::default();
        let keeper = limits.keeper();
        let trades = iter::repeat_n(trade, count);
        let part = |trade| Shell::new(trade, hasher.clone(), &limits, None, keeper.clone());
        let parts = trades.map(part).collect();
        Self::of(parts, hasher, keeper, false)
    }

    fn of(
        parts: Box<[Arc<Shell<T>>]>,
        hasher: Hasher,
        keeper: Option<Arc<Keeper<T>>>,
        starts: bool,
    ) -> Self {
        if let Some(keeper) = &keeper {
            keeper.keep(&parts);
            if starts {
                keeper.start();
            }
        }
        let (last_clear, told_of_close) = (AtomicU64::new(0), Notify::new());
        Self { parts, hasher, last_clear, told_of_close }
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
        (self.part_of(hashed.hash), Request::Of(hashed))
    }

    #[inline]
    fn part_of(&self, hash: u64) -> &Arc<Shell<T>> {
        // The lower bits find the key within its part.
        &self.parts[(hash >> 32) as usize % self.parts.len()]
    }

    pub(super) fn next_clear(&self) -> ClearId {
        ClearId(self.last_clear.fetch_add(1, Ordering::Relaxed))
    }

    /// Creates workers of this key or, in a pool without, of any, until there are `count`.
    pub(crate) async fn prewarm(&self, key: Option<T::Key>, count: usize) -> PoolResult<usize> {
        let (part, request) = match key {
            Some(key) => self.request_of(key),
            None => (self.whole(), self.whole().any()),
        };
        part.prewarm(request, count).await
    }

    pub(super) fn told_of_close(&self) -> &Notify {
        &self.told_of_close
    }

    /// Runs an event under the locks of all parts at the same time, and then what that left to do.
    pub(super) fn with_all(
        &self,
        mut event: impl FnMut(&mut Books<T>, &mut BookEffects<T>),
    ) -> Aftermath {
        let mut errands: Vec<_> = self.parts.iter().map(|part| part.errands()).collect();
        let mut parts = self.parts.iter().zip(&mut errands);
        Lock::with_all(self.parts.iter().map(|part| &part.books), |books| {
            let (part, errands) = parts.next().expect("as many as there are locks");
            part.tell_time(books, &mut errands.effects);
            event(books, &mut errands.effects);
        });
        let mut aftermath = Aftermath::default();
        for errands in &mut errands {
            aftermath.then(errands.ring());
        }
        for errands in &mut errands {
            aftermath.then(errands.run());
        }
        aftermath
    }

    pub(crate) fn status(&self) -> PoolStatus {
        let mut counts = Counts::default();
        Lock::with_all(self.parts.iter().map(|part| &part.books), |books| {
            counts = [counts, books.counts()].into_iter().sum();
        });
        PoolStatus::new(counts)
    }

    pub(crate) fn statistics(&self) -> PoolStatistics {
        let (mut tally, mut counts) = (Tally::default(), Counts::default());
        Lock::with_all(self.parts.iter().map(|part| &part.books), |books| {
            books.add_tally(&mut tally);
            counts = [counts, books.counts()].into_iter().sum();
        });
        PoolStatistics::new(tally, counts)
    }

    pub(crate) fn outstanding(&self) -> Vec<PoolOutstanding> {
        sorted(self.parts.iter().flat_map(|part| part.outstanding()).collect())
    }

    /// What there is of this key.
    pub(crate) fn status_of(&self, key: T::Key) -> PoolStatus {
        let hashed = Hashed::new(key, &self.hasher);
        let part = self.part_of(hashed.hash);
        let counts = part.books.with(|books| books.counts_of(hashed.hash, &hashed.key));
        PoolStatus::new(counts)
    }

    pub(crate) fn resize(&self, max_count: Option<u16>) -> PoolResult<()> {
        self.whole().check_valid()?;
        if max_count == Some(0) {
            let why = "max_count cannot be set to zero, for no worker could exist any more, and has \
                       not changed: set it to 1 or more, to None for no limit, or close the pool";
            return Err(invalid_config(why));
        }
        let limit = limit(max_count);
        self.with_all(|books, effects| books.resize(limit, effects)).resume();
        Ok(())
    }

    pub(crate) fn retain(&self, mut is_kept: impl FnMut(&T::Worker) -> bool) -> PoolRetained {
        let mut retained = PoolRetained::default();
        let mut aftermath = Aftermath::default();
        for part in &self.parts {
            let ((kept, removed), later) = part.retain(&mut is_kept);
            aftermath.then(later);
            retained.kept += kept;
            retained.removed += removed;
        }
        aftermath.resume();
        retained
    }

    pub(crate) fn invalidate(&self) {
        self.with_all(|books, effects| books.invalidate(effects)).resume();
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
        if let Some(keeper) = &self.whole().keeper {
            keeper.end();
        }
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
            Some(counts) => PoolStatus::new(counts.into_iter().sum()).fmt(f),
            None => f.write_str("<locked>"),
        }
    }
}
