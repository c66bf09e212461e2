use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::bell::NotifyWaiter;

use super::{Loan, Shell, Trade, Vacancy};
use crate::scheduler::{Grant, Refusal, Ticket, WaiterId};

/// A place in the line, from which a request is served. Dropping it leaves the line, and passes on
/// what had been given to this request and was not collected.
pub(super) struct Waiting<T: Trade> {
    id: WaiterId,
    /// `None` once its ring was heard.
    bell: Option<NotifyWaiter<()>>,
    shell: Arc<Shell<T>>,
}

/// What a request was served with.
pub(super) enum Served<T: Trade> {
    Worker(Loan<T>),
    Create(Vacancy<T>),
}

const RUNG: &str = "the bell of a waiter rings once, when there is something to collect";

impl<T: Trade> Waiting<T> {
    pub(super) fn new(id: WaiterId, bell: NotifyWaiter<()>, shell: &Arc<Shell<T>>) -> Self {
        Self { id, bell: Some(bell), shell: Arc::clone(shell) }
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.id.ticket
    }
}

impl<T: Trade> Future for Waiting<T> {
    type Output = Result<Served<T>, Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let bell = self.bell.as_mut().expect(RUNG);
        ready!(Pin::new(bell).poll(cx));
        let grant = self.shell.books.with(|books| books.collect(self.id)).expect(RUNG);
        let served = match grant {
            Grant::Worker(unit, slot) => Ok(Served::Worker(Loan::new(unit, slot, &self.shell))),
            Grant::Create(slot) => Ok(Served::Create(Vacancy::new(slot, &self.shell))),
            Grant::Refused(refusal) => Err(refusal),
        };
        // Not before: it may hold the task's waker still, whose destructor may panic.
        drop(self.bell.take());
        Poll::Ready(served)
    }
}

impl<T: Trade> Drop for Waiting<T> {
    fn drop(&mut self) {
        let Some(listener) = self.bell.take() else {
            return;
        };
        let now = self.shell.clock.now();
        let mut errands = self.shell.errands();
        let effects = &mut errands.effects;
        let (unrung, mut aftermath) = self.shell.books.with(|books| {
            let (worker, bell) = books.cancel(self.id, effects);
            let question =
                worker.map(|(unit, slot)| Shell::<T>::give_back(books, unit, slot, now, effects));
            (bell, question.unwrap_or_default())
        });
        aftermath.then(errands.run());
        // Between them these own the waker of the task that has gone.
        aftermath.run(|| drop(unrung));
        aftermath.run(|| drop(listener));
        aftermath.resume();
    }
}
