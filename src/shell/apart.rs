use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime;
use tokio::task::JoinHandle;

use super::creation::{Spare, Stop};
use super::lock::Lock;
use super::request::{Hashed, Request};
use super::vacancy::Vacancy;
use super::{Fragile, Shell, Trade};
use crate::PoolError;

/// Creations that were begun for a request and go on apart from it. Dropping this lets them go on:
/// what comes of them is for whoever waits, or becomes idle.
///
/// Each keeps the waker of the task that asked, whose destructor may panic.
pub(super) struct Apart<T: Trade> {
    creations: Vec<Fragile<JoinHandle<Spare<T>>>>,
    /// After which one of them goes on.
    last_error: Option<Arc<Lock<Option<Fragile<PoolError>>>>>,
    /// The runtime ends, and drops what it is given.
    is_cut_off: bool,
}

/// How a creation has ended that is of no use to its request.
pub(super) enum Ended<T: Trade> {
    Stopped(Fragile<Stop>),
    /// The new worker is of this class, which is full.
    Full(Hashed<T::Key>),
}

impl<T: Trade> Apart<T> {
    pub(super) fn new() -> Self {
        Self { creations: Vec::new(), last_error: None, is_cut_off: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.creations.is_empty()
    }

    /// Begins a creation. Gives the slot back where there is no runtime to go on in.
    pub(super) fn begin(
        &mut self,
        request: Request<T::Key>,
        vacancy: Vacancy<T>,
        shell: &Arc<Shell<T>>,
    ) -> Result<(), Vacancy<T>> {
        let runtime = runtime::Handle::try_current().ok().filter(|_| !self.is_cut_off);
        let Some(runtime) = runtime else { return Err(vacancy) };
        let shell = Fragile::new(Arc::clone(shell));
        let last_error = Arc::clone(self.last_error.get_or_insert_default());
        let note = move |error| drop(last_error.with(|last| last.replace(Fragile::new(error))));
        let creation = async move { shell.create_spare(request, vacancy, note).await };
        #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
        self.creations.push(Fragile::new(runtime.spawn(creation)));
        Ok(())
    }

    /// The last error after which one of them goes on.
    pub(super) fn take_last_error(&self) -> Option<PoolError> {
        self.last_error.as_ref()?.with(Option::take).map(Fragile::into_inner)
    }

    /// Whether one of them has ended in vain. Its panic goes on here, for it is this request's.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended<T>> {
        let mut next = 0;
        while let Some(creation) = self.creations.get_mut(next) {
            let Poll::Ready(ended) = Pin::new(&mut **creation).poll(cx) else {
                next += 1;
                continue;
            };
            let ended = Fragile::new(ended);
            drop(self.creations.swap_remove(next));
            match ended.into_inner() {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(class))) => return Poll::Ready(Ended::Full(class)),
                Ok(Err(stop)) => return Poll::Ready(Ended::Stopped(Fragile::new(stop))),
                Err(end) => match end.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => self.is_cut_off = true,
                },
            }
        }
        Poll::Pending
    }
}
