use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Shell, Trade};
use crate::limits::Limits;

/// A pool's hold on its shell. Guards share the shell, but not this: when the pool is dropped, idle
/// workers go at once, and those that are out as they come back.
pub(crate) struct Handle<T: Trade>(Arc<Shell<T>>);

impl<T: Trade> Handle<T> {
    pub(crate) fn new(trade: T, limits: Limits, sole: Option<T::Key>) -> Self {
        Self(Shell::new(trade, limits, sole))
    }
}

impl<T: Trade> Deref for Handle<T> {
    type Target = Arc<Shell<T>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Trade> Drop for Handle<T> {
    fn drop(&mut self) {
        self.0.dissolve();
    }
}

impl<T: Trade> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
