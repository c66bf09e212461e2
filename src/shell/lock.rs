#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};
use std::sync::{PoisonError, TryLockError};

/// The one lock of a pool, and the one place that locks it.
#[derive(Debug)]
pub(super) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Runs `event` under the lock.
    ///
    /// Poison is ignored: the user's code that runs under the lock does so before the first change,
    /// so a panic in it leaves the value as it was.
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    #[inline]
    pub(super) fn with<R>(&self, event: impl FnOnce(&mut T) -> R) -> R {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        event(&mut guard)
    }

    /// The same for a caller that must not wait, such as `Debug`: `None` if the lock is taken.
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    pub(super) fn try_with<R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let guard: MutexGuard<'_, T> = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(read(&guard))
    }
}
