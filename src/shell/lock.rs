use std::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use parking_lot::{Mutex, MutexGuard};

/// A lock, and the one place that locks.
#[derive(Debug)]
pub(super) struct Lock<T>(Mutex<T>);

// The user's code that runs under the lock does so before the first change, so a panic in it leaves
// the value as it was.
impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Runs `event` under the lock.
    #[inline]
    pub(super) fn with<R>(&self, event: impl FnOnce(&mut T) -> R) -> R {
        event(&mut self.lock())
    }

    /// Runs `event` for each of these, under the locks of all at the same time. Whoever takes several
    /// takes them in the same order.
    pub(super) fn with_all<'a>(locks: impl Iterator<Item = &'a Self>, event: impl FnMut(&mut T))
    where
        T: 'a,
    {
        let mut guards: Vec<_> = locks.map(Self::lock).collect();
        guards.iter_mut().map(|guard| &mut **guard).for_each(event);
    }

    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    #[inline]
    fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock();
        #[cfg(loom)]
        let guard = guard.unwrap_or_else(std::sync::PoisonError::into_inner);
        guard
    }

    /// The same for a caller that must not wait, such as `Debug`: `None` if the lock is taken.
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    pub(super) fn try_with<R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let guard = self.0.try_lock();
        #[cfg(loom)]
        let guard = guard.ok();
        guard.map(|guard| read(&guard))
    }
}
