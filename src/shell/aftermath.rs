use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

/// The first panic among things that all have to be done. It ends here unless it is resumed.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Aftermath(Option<Box<dyn Any + Send>>);

impl Aftermath {
    /// Runs the user's code, such as a destructor or a waker, and keeps its panic for later.
    #[inline]
    pub(super) fn run(&mut self, user_code: impl FnOnce()) {
        if let Err(panic) = ask(user_code) {
            self.then(panic);
        }
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Adds what came later.
    pub(super) fn then(&mut self, later: Self) {
        if self.0.is_none() {
            *self = later;
        }
    }

    /// Hands on what a caller asked for. If a panic goes on instead, that is given back first, for
    /// nobody has touched it yet.
    #[inline(always)]
    pub(super) fn resume_instead_of<R>(self, given: R) -> R {
        if self.goes_on() { self.give_back(given) } else { given }
    }

    #[cold]
    fn give_back<R>(mut self, given: R) -> ! {
        self.run(|| drop(given));
        self.resume_now()
    }

    /// Lets the panic go on to the caller, unless the thread unwinds from another one already.
    #[inline(always)]
    pub(super) fn resume(self) {
        if self.goes_on() {
            self.resume_now();
        }
    }

    #[inline]
    pub(super) fn goes_on(&self) -> bool {
        self.0.is_some() && !thread::panicking()
    }

    #[cold]
    pub(super) fn resume_now(mut self) -> ! {
        panic::resume_unwind(self.0.take().expect("there is a panic to go on"))
    }
}

impl Drop for Aftermath {
    /// What a panic carried may panic when it is dropped.
    fn drop(&mut self) {
        if let Some(payload) = self.0.take() {
            if let Err(worse) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                #[allow(clippy::disallowed_methods, reason = "nothing else is left to do")]
                mem::forget(worse);
            }
        }
    }
}

/// Runs the user's code, and returns its panic as a value.
#[inline]
pub(crate) fn ask<R>(question: impl FnOnce() -> R) -> Result<R, Aftermath> {
    // Whatever the code leaves half-done is the user's own; no state of the pool is in it.
    panic::catch_unwind(AssertUnwindSafe(question)).map_err(|payload| Aftermath(Some(payload)))
}
