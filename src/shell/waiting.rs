use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::aftermath::Aftermath;
use super::bell::NotifyWaiter;
use super::vacancy::Vacancy;
use super::{Books, Dead, Loan, Shell, Trade};
use crate::scheduler::{Grant, Refusal, Standing, Ticket, WaiterId};

/// A place in the line, from which a request is served. Dropping it leaves the line, and passes on
/// what had been given to this request and was not collected.
pub(super) struct Waiting<'a, T: Trade> {
    id: WaiterId,
    /// `None` once its ring was heard.
    bell: Option<NotifyWaiter<()>>,
    /// What the key of the request is called.
    text: Option<Arc<str>>,
    /// When somebody was told that it waits, by the pool's clock.
    told: Option<u64>,
    shell: &'a Arc<Shell<T>>,
}

/// What a request was served with.
pub(super) enum Served<'a, T: Trade> {
    Worker(Loan<T>),
    /// A worker of before all were given up.
    Outdated(Dead<'a, T>),
    Create(Vacancy<T>),
}

/// What a request collects.
pub(super) struct Collected<'a, T: Trade> {
    pub(super) served: Result<Served<'a, T>, Refusal>,
    /// What the books know of it now.
    pub(super) standing: Standing,
    /// Of the waker of the request's task.
    pub(super) aftermath: Aftermath,
}

impl<T: Trade> Collected<'_, T> {
    pub(super) fn is_creation(&self) -> bool {
        matches!(self.served, Ok(Served::Create(_)))
    }
}

const RUNG: &str = "the bell of a waiter rings once, when there is something to collect";

impl<'a, T: Trade> Waiting<'a, T> {
    pub(super) fn new(
        id: WaiterId,
        bell: NotifyWaiter<()>,
        text: Option<Arc<str>>,
        shell: &'a Arc<Shell<T>>,
    ) -> Self {
        Self { id, bell: Some(bell), text, told: None, shell }
    }

    #[cold]
    fn tell_that_it_waits(&mut self) {
        if self.told.is_none() {
            self.told = Some(self.shell.clock.read());
            self.shell.tell(self.text.as_deref(), None, |it, origin| it.waiting(origin));
        }
    }

    fn tell_that_it_has_waited(&mut self) {
        if let Some(told) = self.told.take() {
            let time = self.shell.since(told);
            self.shell.tell(self.text.as_deref(), None, |it, origin| it.waited(origin, time));
        }
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.id.ticket
    }
}

impl<'a, T: Trade> Future for Waiting<'a, T> {
    type Output = Collected<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let bell = self.bell.as_mut().expect(RUNG);
        if Pin::new(bell).poll(cx).is_pending() {
            if self.shell.is_watched {
                self.tell_that_it_waits();
            }
            return Poll::Pending;
        }
        let shell = self.shell;
        let times = shell.clock.times();
        // Whoever stands in a line is in progress.
        let mut standing = Standing::InProgress;
        let collect = |books: &mut Books<T>| books.collect(self.id, &mut standing, times);
        let grant = shell.books.with(collect).expect(RUNG);
        let served = match grant {
            Grant::Worker(unit, slot) => Ok(Served::Worker(Loan::new(unit, slot, shell))),
            Grant::Outdated(unit, slot) => Ok(Served::Outdated(Dead::of(unit, slot, shell))),
            Grant::Create(slot) => Ok(Served::Create(Vacancy::new(slot, shell))),
            Grant::Refused(refusal) => Err(refusal),
        };
        // Not before: it may hold the task's waker still, whose destructor may panic.
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(self.bell.take()));
        self.tell_that_it_has_waited();
        Poll::Ready(Collected { served, standing, aftermath })
    }
}

impl<T: Trade> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        let Some(listener) = self.bell.take() else {
            return;
        };
        let now = self.shell.clock.now();
        let mut errands = self.shell.errands();
        let (unrung, mut aftermath) = self.shell.with(&mut errands.effects, |books, effects| {
            let (worker, bell) = books.cancel(self.id, effects);
            let question =
                worker.map(|(unit, slot)| Shell::<T>::give_back(books, unit, slot, now, effects));
            (bell, question.unwrap_or_default())
        });
        aftermath.then(errands.run());
        self.tell_that_it_has_waited();
        // Between them these own the waker of the task that has gone.
        aftermath.run(|| drop(unrung));
        aftermath.run(|| drop(listener));
        aftermath.resume();
    }
}
