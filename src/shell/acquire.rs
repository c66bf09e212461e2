use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout_at;

use super::aftermath::{Aftermath, ask};
use super::apart::{Apart, Ended};
use super::bell::{Bell, Notify};
use super::hasher::Hasher;
use super::vacancy::{Filled, Vacancy};
use super::waiting::{Served, Waiting};
use super::within::{once, within};
use super::{BookEffects, Dead, Errands, Fragile, Loan, Shell, Trade, Unit};
use crate::error::{invalid_config, refused, timed_out};
use crate::scheduler::{Entered, Entry, Lent, Refusal, Ticket, Wish};
use crate::{PoolError, PoolResult};

/// What the user asks for.
pub(crate) enum Request<K> {
    /// A worker of the sole bucket.
    Sole,
    /// Any worker.
    Any,
    /// A worker for this key.
    Of(Hashed<K>),
}

/// A key, and its hash, for which the user's code is asked once.
pub(crate) struct Hashed<K> {
    pub(super) hash: u64,
    pub(super) key: Fragile<K>,
}

/// A request after its first look at what is idle.
pub(crate) enum Begun<'a, T: Trade> {
    /// All that there is to do on a warm pool.
    Served(Loan<T>),
    Pursues(Pursuit<'a, T>),
}

/// A request that its first look has not served.
pub(crate) struct Pursuit<'a, T: Trade> {
    shell: &'a Arc<Shell<T>>,
    request: Request<T::Key>,
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
    step: Step,
    /// Creations that go on apart from it.
    apart: Apart<T>,
    /// Why its last attempt at a worker failed.
    last_error: Option<Box<PoolError>>,
}

/// What a request is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Waiting,
    /// The last of its dead workers is alive still, and to be recycled.
    Recycling,
    Creating,
}

/// How far a request has come.
enum Turn<'a, T: Trade> {
    Found(Result<Loan<T>, Vain<'a, T>>),
    Waits(Waiting<'a, T>),
}

/// An idle worker that can't be handed out as it is. The place in the order is kept.
struct Vain<'a, T: Trade> {
    ticket: Ticket,
    dead: Dead<'a, T>,
    /// It is well, but has to be recycled before it is used.
    is_due: bool,
}

/// What is to be done with a worker that was idle.
enum Verdict {
    Well,
    /// It is well, but has to be recycled before it is used.
    Due,
    /// It is not, or the question has panicked.
    Dead(Aftermath),
}

/// Why a request has ended without a worker.
enum Stop {
    Refused(Refusal),
    Failed(PoolError),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PoolError> for Stop {
    fn from(error: PoolError) -> Self {
        Self::Failed(error)
    }
}

impl<T: Trade> Shell<T> {
    /// Gets a worker within a time of its own.
    pub(crate) async fn get_within(
        self: &Arc<Self>,
        request: Request<T::Key>,
        limit: Duration,
    ) -> PoolResult<Loan<T>> {
        let mut pursuit = match self.begin(request) {
            Begun::Served(loan) => return Ok(loan),
            Begun::Pursues(pursuit) => pursuit,
        };
        pursuit.finish(Some(limit)).await
    }

    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    pub(crate) fn begin(self: &Arc<Self>, request: Request<T::Key>) -> Begun<'_, T> {
        let now = self.clock.now();
        // Most requests leave nothing to do, and need nothing to see to it.
        let mut effects = Errands::nothing();
        let lent = self.books.with(|books| books.lend(request.wish(None), now, &mut effects));
        let lent = match lent {
            Ok(Some(lent)) => lent,
            nothing => return self.begin_without(request, nothing.err(), effects),
        };
        match self.judge(&lent) {
            Verdict::Well if effects.is_empty() => {
                let loan = Loan::new(lent.value, lent.slot, self);
                Self::served(loan, request, Aftermath::default())
            }
            verdict => self.begin_with(lent, verdict, request, effects),
        }
    }

    #[cold]
    fn begin_without(
        self: &Arc<Self>,
        request: Request<T::Key>,
        refusal: Option<Refusal>,
        effects: ManuallyDrop<BookEffects<T>>,
    ) -> Begun<'_, T> {
        Errands::of(effects, self).run().resume();
        Begun::Pursues(Pursuit { refusal, ..Pursuit::new(request, self) })
    }

    #[cold]
    fn begin_with(
        self: &Arc<Self>,
        lent: Lent<Unit<T>>,
        verdict: Verdict,
        request: Request<T::Key>,
        effects: ManuallyDrop<BookEffects<T>>,
    ) -> Begun<'_, T> {
        let mut errands = Errands::of(effects, self);
        if let Verdict::Well = verdict {
            let loan = Loan::new(lent.value, lent.slot, self);
            return Self::served(loan, request, errands.run());
        }
        let vain = errands.run_before(Vain::new(lent, verdict, self));
        Begun::Pursues(Pursuit::new(request, self).beside(vain))
    }

    /// Not at the end of a function, where a panic in the request's key would lose the loan.
    #[inline]
    fn served<'a>(
        loan: Loan<T>,
        request: Request<T::Key>,
        mut aftermath: Aftermath,
    ) -> Begun<'a, T> {
        aftermath.run(|| drop(request));
        Begun::Served(aftermath.resume_instead_of(loan))
    }

    /// Lends an idle worker, if there is one that is well and need not be recycled.
    pub(crate) fn try_get(
        self: &Arc<Self>,
        request: Request<T::Key>,
    ) -> PoolResult<Option<Loan<T>>> {
        if let Some(why) = &self.invalid {
            return Err(invalid_config(why));
        }
        let mut pursuit = Pursuit::new(request, self);
        loop {
            let now = self.clock.now();
            let wish = pursuit.request.wish(None);
            let fresh = self.fresh_for;
            let mut errands = self.errands();
            let effects = &mut errands.effects;
            let lent =
                self.books.with(|books| books.try_lend(wish, (now, fresh), T::serves, effects));
            let found = lent.map_err(refused)?.map(|lent| self.examine(lent));
            match errands.run_before(found) {
                None => return Ok(None),
                Some(Ok(loan)) => return Ok(Some(pursuit.end_with(loan))),
                Some(Err(vain)) => pursuit.put_aside(vain),
            }
        }
    }

    fn examine(self: &Arc<Self>, lent: Lent<Unit<T>>) -> Result<Loan<T>, Vain<'_, T>> {
        match self.judge(&lent) {
            Verdict::Well => Ok(Loan::new(lent.value, lent.slot, self)),
            verdict => Err(Vain::new(lent, verdict, self)),
        }
    }

    /// Asks a worker that was idle whether it is well.
    #[inline]
    fn judge(&self, lent: &Lent<Unit<T>>) -> Verdict {
        if lent.is_spent {
            return Verdict::Dead(Aftermath::default());
        }
        match ask(|| T::is_well(&lent.value)) {
            Ok(true) if lent.rested < self.fresh_for => Verdict::Well,
            Ok(true) => Verdict::Due,
            answer => Verdict::Dead(answer.err().unwrap_or_default()),
        }
    }
}

impl<'a, T: Trade> Vain<'a, T> {
    fn new(lent: Lent<Unit<T>>, verdict: Verdict, shell: &'a Arc<Shell<T>>) -> Self {
        let Lent { value, slot, ticket, .. } = lent;
        let vain = |is_due| Self { ticket, dead: Dead::of(value, slot, shell), is_due };
        match verdict {
            Verdict::Well | Verdict::Due => vain(true),
            Verdict::Dead(panic) => panic.resume_instead_of(vain(false)),
        }
    }
}

impl<'a, T: Trade> Pursuit<'a, T> {
    #[inline]
    fn new(request: Request<T::Key>, shell: &'a Arc<Shell<T>>) -> Self {
        Self {
            shell,
            request,
            refusal: None,
            ticket: None,
            deadline: None,
            full: None,
            dead: Dead::new(shell),
            step: Step::Waiting,
            apart: Apart::new(),
            last_error: None,
        }
    }

    /// With a worker put aside that it has met.
    fn beside(mut self, vain: Vain<'a, T>) -> Self {
        self.put_aside(vain);
        self
    }

    /// Goes on until the request is served: by an idle worker, one that somebody returns, or a new
    /// one; but no longer than `limit`, or else than the pool allows.
    pub(crate) async fn finish(&mut self, limit: Option<Duration>) -> PoolResult<Loan<T>> {
        if let Some(why) = &self.shell.invalid {
            return Err(invalid_config(why));
        }
        self.shell.start_keeper();
        let limit = limit.or(self.shell.policy.acquire_timeout);
        let result = match limit.and_then(|limit| self.shell.clock.deadline(limit)) {
            None => self.pursue().await,
            // A timer counts milliseconds, and comes too late for those who have no time.
            Some(_) if limit == Some(Duration::ZERO) => {
                once(self.pursue()).await.unwrap_or(Err(Stop::Refused(Refusal::TimedOut)))
            }
            Some((instant, nanos)) => {
                self.deadline = Some(nanos);
                // Boxed, for a timer is large and most requests have none.
                let timed = Box::pin(timeout_at(instant, self.pursue())).await;
                timed.unwrap_or(Err(Stop::Refused(Refusal::TimedOut)))
            }
        };
        result.map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Refused(Refusal::TimedOut) => {
                let wish = self.request.wish(None);
                let counts = self.shell.books.with(|books| books.counts_for(wish));
                let limit = limit.unwrap_or_default();
                let step = if self.apart.is_empty() { self.step } else { Step::Creating };
                timed_out(step, limit, &counts, self.last_error.take().map(|it| *it))
            }
            Stop::Refused(refusal) => refused(refusal),
        })
    }

    async fn pursue(&mut self) -> Result<Loan<T>, Stop> {
        if let Some(refusal) = self.refusal {
            return Err(refusal.into());
        }
        loop {
            if self.step == Step::Recycling {
                // Boxed, for most pools never do this.
                if let Some(loan) = Box::pin(self.recycle()).await {
                    return Ok(self.end_with(loan));
                }
            }
            let mut waiting = match self.go_on()? {
                Turn::Waits(waiting) => waiting,
                Turn::Found(Ok(loan)) => return Ok(self.end_with(loan)),
                Turn::Found(Err(vain)) => {
                    self.put_aside(vain);
                    continue;
                }
            };
            self.ticket = Some(waiting.ticket());
            let heard =
                poll_fn(|cx| match (self.apart.poll(cx), Pin::new(&mut waiting).poll(cx)) {
                    // A worker that it has been given by now is its own; another creation is not begun.
                    (Poll::Ready(ended), Poll::Pending | Poll::Ready(Ok(Served::Create(_)))) => {
                        Poll::Ready(Err(ended))
                    }
                    (ended, Poll::Ready(served)) => {
                        // Not at the end, where a panic in it would lose what was served.
                        drop(ended);
                        Poll::Ready(Ok(served))
                    }
                    (Poll::Pending, Poll::Pending) => Poll::Pending,
                });
            let served = match heard.await {
                Ok(served) => served?,
                Err(Ended::Failed(error)) => return Err(error.into()),
                Err(Ended::Full(class)) => {
                    self.full = Some(class);
                    continue;
                }
            };
            let vacancy = match served {
                Served::Worker(loan) if self.shell.fresh_for == 0 => {
                    self.dead.add(loan);
                    self.step = Step::Recycling;
                    continue;
                }
                Served::Worker(loan) => return Ok(self.end_with(loan)),
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
            self.step = Step::Creating;
            if let Some(loan) = self.create_in(vacancy).await? {
                return Ok(self.end_with(loan));
            }
            self.step = Step::Waiting;
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
            let unit = match &shell.policy.creation {
                None => shell.trade.create(self.request.key()).await?,
                // Boxed, for a timer is large and most pools have none.
                Some(policy) => {
                    let key = self.request.key();
                    Box::pin(shell.attempt(policy, key, &mut self.last_error)).await?
                }
            };
            match vacancy.fill(unit, matches!(self.request, Request::Any), false) {
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
        let unit = self.dead.last_mut()?;
        let recycling = shell.trade.recycle(unit);
        let recycled = within(shell.policy.recycle_timeout, "recycle()", recycling).await;
        self.step = Step::Waiting;
        match recycled {
            Ok(()) => self.dead.revive(),
            Err(error) => {
                self.last_error = Some(Box::new(error));
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

    fn put_aside(&mut self, vain: Vain<'a, T>) {
        let Vain { ticket, dead, is_due } = vain;
        self.ticket = Some(ticket);
        self.dead.append(dead);
        if is_due {
            self.step = Step::Recycling;
        }
    }

    /// Looks for another idle worker.
    fn look_again(&self) -> Option<Result<Loan<T>, Vain<'a, T>>> {
        let shell = self.shell;
        let place = (self.ticket?, self.dead.last()?);
        let wish = self.request.wish(self.full.as_ref());
        let now = shell.clock.now();
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let lent = shell.books.with(|books| books.lend_again(wish, place, now, T::serves, effects));
        let found = lent.map(|lent| shell.examine(lent));
        errands.run_before(found)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(&mut self) -> Result<Turn<'a, T>, Refusal> {
        let (shell, ticket, deadline) = (self.shell, self.ticket, self.deadline);
        let held = self.dead.buried();
        let wish = self.request.wish(self.full.as_ref());
        let mut spare_key = Fragile::new(wish.key().cloned());
        let (bell, listener) = Notify::new();
        let mut bell = Some(Bell::Request(bell));
        let now = shell.clock.now();
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let entered = shell.with(effects, |books, effects| {
            let (bell, spare_key) = (&mut bell, &mut *spare_key);
            let entry = Entry { wish, ticket, deadline, held, bell, spare_key };
            books.enter(entry, now, T::serves, effects)
        })?;
        let mut aftermath = errands.ring();
        let turn = match entered {
            Entered::Lent(lent) => Turn::Found(shell.examine(lent)),
            Entered::Waits(id) => Turn::Waits(Waiting::new(id, listener, shell)),
        };
        aftermath.then(errands.run());
        aftermath.run(|| drop(spare_key));
        Ok(aftermath.resume_instead_of(turn))
    }

    /// Lets go of all that a request holds. Not at the end of a function, where a panic in it would
    /// lose the loan.
    fn end_with(&mut self, loan: Loan<T>) -> Loan<T> {
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
        aftermath.resume_instead_of(loan)
    }
}

impl<K: Hash> Hashed<K> {
    pub(super) fn new(key: K, hasher: &Hasher) -> Self {
        let key = Fragile::new(key);
        Self { hash: hasher.hash_one(&*key), key }
    }
}

impl<K: Clone> Request<K> {
    /// Another request for the same.
    pub(super) fn same(&self) -> Self {
        match self {
            Self::Sole => Self::Sole,
            Self::Any => Self::Any,
            Self::Of(Hashed { hash, key }) => {
                Self::Of(Hashed { hash: *hash, key: Fragile::new(K::clone(key)) })
            }
        }
    }

    pub(super) fn key(&self) -> Option<K> {
        match self {
            Self::Of(hashed) => Some(K::clone(&hashed.key)),
            Self::Sole | Self::Any => None,
        }
    }

    pub(super) fn wish<'a>(&'a self, full: Option<&'a Hashed<K>>) -> Wish<'a, K> {
        match (self, full) {
            (Self::Sole, _) => Wish::Sole,
            (Self::Of(Hashed { hash, key }), _) => Wish::Of { hash: *hash, key },
            (Self::Any, Some(Hashed { hash, key })) => Wish::AnyOnceRoom { hash: *hash, key },
            (Self::Any, None) => Wish::Any,
        }
    }
}
