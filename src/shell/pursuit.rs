use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::timeout_at;

use super::account::Account;
use super::aftermath::Aftermath;
use super::apart::{Apart, Ended};
use super::bell::{Bell, Notify};
use super::creation::Stop;
use super::request::{Hashed, Request};
use super::vacancy::{Filled, Vacancy};
use super::verdict::Vain;
use super::waiting::{Served, Waiting};
use super::watch::{Caller, Place};
use super::within::{once, timed, within};
use super::{Dead, Fragile, Loan, Shell, Trade};
use crate::error::{refused, timed_out};
use crate::scheduler::{End, Entered, Entry, How, Refusal, Standing, Ticket};
use crate::{PoolError, PoolObserver, PoolOrigin, PoolResult, PoolStep};

/// A request that its first look has not served.
pub(crate) struct Pursuit<'a, T: Trade> {
    shell: &'a Arc<Shell<T>>,
    request: Request<T::Key>,
    caller: Caller,
    /// What its key is called, if anybody wants to know.
    text: Option<Arc<str>>,
    /// Why the first look was not allowed.
    refusal: Option<Refusal>,
    /// Its place in the order, if it has one.
    ticket: Option<Ticket>,
    /// When it will have waited long enough, by the pool's clock.
    deadline: Option<u64>,
    /// The bucket that was full when a worker for any key turned out to belong there.
    full: Option<Hashed<T::Key>>,
    /// A request takes its worker first, and lets dead ones go after.
    dead: Dead<'a, T>,
    /// What it is doing.
    step: PoolStep,
    /// What is counted of it.
    account: Account<'a, T>,
    /// Since when it waits, by the pool's clock.
    since: Option<u64>,
    /// Creations that go on apart from it.
    apart: Apart<T>,
    /// Why its last attempt at a worker failed.
    last_error: Option<Fragile<Box<PoolError>>>,
}

/// How far a request has come.
enum Turn<'a, T: Trade> {
    Found(Result<Loan<T>, Vain<'a, T>>),
    Waits(Waiting<'a, T>),
}

impl<T: Trade> Shell<T> {
    /// Lends an idle worker, if there is one that is well and need not be recycled.
    pub(crate) fn try_get(
        self: &Arc<Self>,
        request: Request<T::Key>,
        place: Place,
    ) -> PoolResult<Option<Loan<T>>> {
        self.check_valid()?;
        let mut pursuit = Pursuit::new(request, self.caller(place), self);
        loop {
            let now = self.clock.now();
            let wish = pursuit.request.wish(None);
            let fresh = self.fresh_for;
            let mut errands = self.errands();
            let effects = &mut errands.effects;
            let place = (pursuit.ticket, &mut pursuit.account.standing);
            let lent = self
                .books
                .with(|books| books.try_lend(wish, place, (now, fresh), T::serves, effects));
            let lent = lent.map_err(|refusal| {
                pursuit.text = self.text_of_request(&pursuit.request);
                pursuit.turned_away(refusal)
            })?;
            let found = lent.map(|lent| self.examine(lent));
            match errands.run_before(found) {
                None => return Ok(None),
                Some(Ok(loan)) => return Ok(Some(pursuit.end_with(loan, PoolStep::Idle))),
                Some(Err(vain)) => pursuit.put_aside(vain),
            }
        }
    }
}

impl<'a, T: Trade> Pursuit<'a, T> {
    #[inline]
    pub(super) fn new(request: Request<T::Key>, caller: Caller, shell: &'a Arc<Shell<T>>) -> Self {
        Self {
            shell,
            request,
            caller,
            text: None,
            refusal: None,
            ticket: None,
            deadline: None,
            full: None,
            dead: Dead::new(shell),
            step: PoolStep::Waiting,
            account: Account::new(shell),
            since: None,
            apart: Apart::new(),
            last_error: None,
        }
    }

    /// One whose first look was not allowed, if so.
    pub(super) fn refused(self, refusal: Option<Refusal>) -> Self {
        Self { refusal, ..self }
    }

    /// One whose first look has met a worker, of which it is not known what that is good for.
    pub(super) fn lent(mut self) -> Self {
        self.account.standing = Standing::Served(How::AtOnce);
        self
    }

    /// Goes on until the request is served: by an idle worker, one that somebody returns, or a new
    /// one; but no longer than `limit`, or else than the pool allows.
    pub(crate) async fn finish(&mut self, limit: Option<Duration>) -> PoolResult<Loan<T>> {
        let mut rest = pin!(self.go_through(limit));
        poll_fn(|cx| poll_seldom(rest.as_mut(), cx)).await
    }

    async fn go_through(&mut self, limit: Option<Duration>) -> PoolResult<Loan<T>> {
        self.shell.check_valid()?;
        self.shell.start_keeper();
        self.text = self.shell.text_of_request(&self.request);
        let limit = limit.or(self.shell.policy.acquire_timeout);
        let result = match limit.and_then(|limit| self.shell.clock.deadline(limit)) {
            None => self.pursue().await,
            // A timer counts milliseconds, and comes too late for those who have no time.
            Some(_) if limit == Some(Duration::ZERO) => {
                once(self.pursue()).await.unwrap_or(Err(Stop::Refused(Refusal::TimedOut)))
            }
            Some((instant, nanos)) => {
                self.deadline = Some(nanos);
                let pursued = timed(Box::pin(timeout_at(instant, self.pursue()))).await;
                pursued.unwrap_or(Err(Stop::Refused(Refusal::TimedOut)))
            }
        };
        result.map_err(|stop| match stop {
            Stop::Failed(error) => {
                self.account.fail(End::Failed);
                error
            }
            Stop::Refused(Refusal::TimedOut) => {
                self.account.fail(End::TimedOut);
                let wish = self.request.wish(None);
                let counts = self.shell.books.with(|books| books.counts_for(wish));
                let limit = limit.unwrap_or_default();
                let step = if self.apart.is_empty() { self.step } else { PoolStep::Creating };
                self.tell(|it, origin, took| it.timed_out(origin, took, step));
                let own = self.last_error.take().map(|error| *error.into_inner());
                let last_error = own.or_else(|| self.apart.take_last_error());
                timed_out(step, limit, &counts, last_error)
            }
            Stop::Refused(refusal) => {
                self.account.fail(refusal.into());
                self.turned_away(refusal)
            }
        })
    }

    fn turned_away(&self, refusal: Refusal) -> PoolError {
        let error = refused(refusal);
        self.tell(|it, origin, _| it.refused(origin, error.code()));
        error
    }

    /// Tells of this request, and how long it has taken.
    fn tell(&self, event: impl Fn(&dyn PoolObserver, &PoolOrigin<'_>, Duration)) {
        if self.shell.is_watched {
            let took = self.shell.taken_by(self.caller);
            self.shell.tell(self.text.as_deref(), None, |it, origin| event(it, origin, took));
        }
    }

    async fn pursue(&mut self) -> Result<Loan<T>, Stop> {
        if let Some(refusal) = self.refusal {
            return Err(refusal.into());
        }
        loop {
            if self.step == PoolStep::Recycling {
                // Boxed, for most pools never do this.
                if let Some(loan) = Box::pin(self.recycle()).await {
                    return Ok(self.end_with(loan, PoolStep::Recycling));
                }
            }
            let mut waiting = match self.go_on()? {
                Turn::Waits(waiting) => waiting,
                Turn::Found(Ok(loan)) => return Ok(self.end_with(loan, PoolStep::Idle)),
                Turn::Found(Err(vain)) => {
                    self.put_aside(vain);
                    continue;
                }
            };
            self.ticket = Some(waiting.ticket());
            let heard = poll_fn(|cx| {
                let (ended, collected) = (self.apart.poll(cx), Pin::new(&mut waiting).poll(cx));
                if collected.is_ready() {
                    // This wait is over, and counted.
                    self.since = None;
                }
                match (ended, collected) {
                    (Poll::Ready(ended), Poll::Pending) => Poll::Ready(Err(ended)),
                    // A worker that it has been given by now is its own; another creation is not begun.
                    (Poll::Ready(ended), Poll::Ready(collected)) if collected.is_creation() => {
                        Poll::Ready(Err(ended))
                    }
                    (ended, Poll::Ready(mut collected)) => {
                        // Not at the end, where a panic in it would lose what was served.
                        collected.aftermath.run(|| drop(ended));
                        Poll::Ready(Ok(collected))
                    }
                    (Poll::Pending, Poll::Pending) => Poll::Pending,
                }
            });
            let served = match heard.await {
                Ok(collected) => {
                    self.account.standing = collected.standing;
                    collected.aftermath.resume_instead_of(collected.served)?
                }
                Err(Ended::Stopped(stop)) => return Err(stop.into_inner()),
                Err(Ended::Full(class)) => {
                    self.full = Some(class);
                    continue;
                }
            };
            let vacancy = match served {
                Served::Worker(loan) if self.shell.fresh_for == 0 => {
                    self.dead.add(loan);
                    self.step = PoolStep::Recycling;
                    continue;
                }
                Served::Worker(loan) => return Ok(self.end_with(loan, PoolStep::Waiting)),
                Served::Outdated(dead) => {
                    self.dead.append(dead);
                    continue;
                }
                Served::Create(vacancy) => vacancy,
            };
            let vacancy = match self.create_apart(vacancy) {
                Ok(()) => continue,
                Err(vacancy) => vacancy,
            };
            self.step = PoolStep::Creating;
            if let Some(loan) = self.create_in(vacancy).await? {
                return Ok(self.end_with(loan, PoolStep::Creating));
            }
            self.step = PoolStep::Waiting;
        }
    }

    /// Lets a creation go on apart from this request, if the pool is one that does.
    fn create_apart(&mut self, vacancy: Vacancy<T>) -> Result<(), Vacancy<T>> {
        if !self.shell.policy.creates_apart {
            return Err(vacancy);
        }
        self.apart.begin(self.request.same(), vacancy, self.shell)
    }

    /// Creates until there is a worker for this request; `None` if its class is full.
    async fn create_in(&mut self, mut vacancy: Vacancy<T>) -> Result<Option<Loan<T>>, Stop> {
        let shell = self.shell;
        loop {
            let note = |error| self.last_error = Some(Fragile::new(Box::new(error)));
            vacancy.begin();
            let unit = match shell.create(self.request.key(), note).await {
                Ok(unit) => unit,
                Err(error) => {
                    vacancy.has_failed(self.text.as_deref(), &error);
                    return Err(error.into());
                }
            };
            let standing = Some(&mut self.account.standing);
            match vacancy.fill(unit, matches!(self.request, Request::Any), standing) {
                Filled::Loan(loan) => return Ok(Some(loan)),
                Filled::Banked => return Ok(None),
                Filled::Refused(refusal) => return Err(refusal.into()),
                Filled::Outdated(same) => vacancy = same,
                Filled::Full(slot, class) => {
                    self.dead.add_empty(slot);
                    self.full = Some(class);
                    return Ok(None);
                }
            }
        }
    }

    /// Recycles the last worker, which is among the dead so that it is destroyed if this ends early.
    async fn recycle(&mut self) -> Option<Loan<T>> {
        let shell = self.shell;
        let standing = &mut self.account.standing;
        let how = standing.how();
        shell.books.with(|books| books.resume(standing));
        let unit = self.dead.last_mut()?;
        let recycling = shell.trade.recycle(unit);
        let recycled = within(shell.policy.recycle_timeout, "recycle()", recycling).await;
        self.step = PoolStep::Waiting;
        match recycled {
            Ok(()) => self.dead.revive(&mut self.account.standing, how),
            Err(error) => {
                self.last_error = Some(Fragile::new(Box::new(error)));
                None
            }
        }
    }

    /// Looks at idle workers, of any bucket that may serve, or else goes to the line.
    fn go_on(&mut self) -> Result<Turn<'a, T>, Refusal> {
        match self.look_again() {
            Some(found) => Ok(Turn::Found(found)),
            None => self.enter(),
        }
    }

    pub(super) fn put_aside(&mut self, vain: Vain<'a, T>) {
        let Vain { ticket, dead, is_due } = vain;
        self.ticket = Some(ticket);
        self.since = None;
        self.dead.append(dead);
        if is_due {
            self.step = PoolStep::Recycling;
        }
    }

    /// Looks for another idle worker.
    fn look_again(&mut self) -> Option<Result<Loan<T>, Vain<'a, T>>> {
        let shell = self.shell;
        let place = (self.ticket?, self.dead.last()?);
        let wish = self.request.wish(self.full.as_ref());
        let now = shell.clock.now();
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let standing = &mut self.account.standing;
        let lent = shell
            .books
            .with(|books| books.lend_again(wish, place, standing, now, T::serves, effects));
        let found = lent.map(|lent| shell.examine(lent));
        errands.run_before(found)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(&mut self) -> Result<Turn<'a, T>, Refusal> {
        let (shell, ticket, deadline) = (self.shell, self.ticket, self.deadline);
        let (held, buried) = self.dead.buried();
        let wish = self.request.wish(self.full.as_ref());
        let mut spare_key = Fragile::new(wish.key().cloned());
        let (bell, listener) = Notify::new();
        let mut bell = Some(Bell::Request(bell));
        let now = shell.clock.now();
        let since = *self.since.get_or_insert_with(|| shell.clock.read());
        let standing = &mut self.account.standing;
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let entered = shell.with(effects, |books, effects| {
            let (bell, spare_key) = (&mut bell, &mut *spare_key);
            let entry =
                Entry { wish, ticket, since, deadline, held, buried, bell, spare_key, standing };
            books.enter(entry, now, T::serves, effects)
        })?;
        let mut aftermath = errands.ring();
        let turn = match entered {
            Entered::Lent(lent) => Turn::Found(shell.examine(lent)),
            Entered::Waits(id) => Turn::Waits(Waiting::new(id, listener, self.text.clone(), shell)),
        };
        aftermath.then(errands.run());
        aftermath.run(|| drop(spare_key));
        Ok(aftermath.resume_instead_of(turn))
    }

    /// Lets go of all that a request holds. Not at the end of a function, where a panic in it would
    /// lose the loan.
    pub(super) fn end_with(&mut self, loan: Loan<T>, step: PoolStep) -> Loan<T> {
        let mut aftermath = Aftermath::default();
        if !self.dead.is_empty() {
            aftermath.run(|| drop(mem::replace(&mut self.dead, Dead::new(self.shell))));
        }
        if let Some(full) = self.full.take() {
            aftermath.run(|| drop(full));
        }
        if let Some(error) = self.last_error.take() {
            aftermath.run(|| drop(error));
        }
        if !self.apart.is_empty() {
            aftermath.run(|| drop(mem::replace(&mut self.apart, Apart::new())));
        }
        aftermath.run(|| drop(mem::replace(&mut self.request, Request::Any)));
        let loan = aftermath.resume_instead_of(loan);
        self.account.close();
        self.shell.acquired(&loan, self.caller, step);
        loan
    }
}

/// Not inlined, so that a request which is served at its first look has nothing of this on its way.
#[cold]
#[inline(never)]
fn poll_seldom<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(cx)
}
