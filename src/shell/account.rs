use std::sync::Arc;
use std::thread;

use super::{Shell, Trade};
use crate::scheduler::{End, Standing};

/// What the books know of a request. Dropping it before the request has ended tells them of the end.
pub(super) struct Account<'a, T: Trade> {
    pub(super) standing: Standing,
    shell: &'a Arc<Shell<T>>,
}

impl<'a, T: Trade> Account<'a, T> {
    pub(super) fn new(shell: &'a Arc<Shell<T>>) -> Self {
        Self { standing: Standing::New, shell }
    }

    /// The request has its worker, of which the books know.
    pub(super) fn close(&mut self) {
        self.standing = Standing::Over;
    }

    /// The request has ended without a worker, if the books don't know that yet.
    pub(super) fn fail(&mut self, end: End) {
        if !matches!(self.standing, Standing::New | Standing::Over) {
            self.shell.books.with(|books| books.fail(&mut self.standing, end));
        }
    }
}

impl<T: Trade> Drop for Account<'_, T> {
    fn drop(&mut self) {
        self.fail(if thread::panicking() { End::Failed } else { End::Cancelled });
    }
}
