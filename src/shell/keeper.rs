//! What a pool does by itself, in one task of its own: expiry, a reserve, and the asynchronous end of
//! workers.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::runtime;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::aftermath::Aftermath;
use super::bell::Bell;
use super::creation::Stop;
use super::lock::Lock;
use super::vacancy::Vacancy;
use super::{Fragile, Shell, Trade, Unit};
use crate::PoolResult;
use crate::scheduler::{Doomed, Slot, WaiterId};

/// The keeper of a pool. It lives as long as the pool or a guard; its task as long as the pool.
pub(crate) struct Keeper<T: Trade> {
    parts: OnceLock<Box<[Weak<Shell<T>>]>>,
    is_running: AtomicBool,
    is_over: AtomicBool,
    wake: Notify,
    /// How long an asynchronous end may take, if workers have one.
    destroy_timeout: Option<Duration>,
    /// Workers whose end it has to see to; `None` while it sees to none.
    doomed: Lock<Option<Vec<Burial<T>>>>,
}

/// A worker that is being destroyed, and its slot, which is freed when this is dropped.
pub(super) struct Burial<T: Trade> {
    unit: Option<Unit<T>>,
    place: Option<(Slot, Option<WaiterId>)>,
    /// The last one out drops the factory.
    shell: Fragile<Arc<Shell<T>>>,
}

impl<T: Trade> Keeper<T> {
    pub(crate) fn new(destroy_timeout: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            parts: OnceLock::new(),
            is_running: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            wake: Notify::new(),
            destroy_timeout,
            doomed: Lock::new(None),
        })
    }

    /// Says which parts the pool has.
    pub(super) fn keep(&self, parts: &[Arc<Shell<T>>]) {
        _ = self.parts.set(parts.iter().map(Arc::downgrade).collect());
    }

    /// Starts the task, if it does not run and there is a runtime.
    pub(super) fn start(self: &Arc<Self>) {
        if self.is_running.load(Ordering::Acquire) || self.is_over.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = runtime::Handle::try_current() else { return };
        if self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.destroy_timeout.is_some() {
            self.doomed.with(|doomed| *doomed = Some(Vec::new()));
        }
        let round = Round::new(Arc::clone(self));
        #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
        drop(runtime.spawn(round.go()));
    }

    /// The pool is gone.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    pub(super) fn ring(&self) {
        self.wake.notify_one();
    }

    /// Takes over a worker that has to be destroyed, or gives it back if nobody sees to it.
    pub(super) fn bury(
        &self,
        doomed: Doomed<Unit<T>>,
        shell: &Arc<Shell<T>>,
    ) -> Result<(), Doomed<Unit<T>>> {
        if self.is_over.load(Ordering::Acquire) {
            return Err(doomed);
        }
        let shell = Fragile::new(Arc::clone(shell));
        self.doomed.with(|queue| match queue {
            None => Err(doomed),
            Some(queue) => {
                let Doomed { value, slot, heir } = doomed;
                queue.push(Burial { unit: Some(value), place: Some((slot, heir)), shell });
                Ok(())
            }
        })?;
        self.ring();
        Ok(())
    }

    /// From now on workers are destroyed by whoever gives them up.
    fn stop_burying(&self) -> Vec<Burial<T>> {
        self.doomed.with(Option::take).unwrap_or_default()
    }

    fn shells(&self) -> impl Iterator<Item = Arc<Shell<T>>> {
        self.parts.get().into_iter().flatten().filter_map(Weak::upgrade)
    }
}

/// The task of a keeper. Dropping it, be it with its runtime, lets another one start.
struct Round<T: Trade> {
    keeper: Arc<Keeper<T>>,
    jobs: JoinSet<PoolResult<bool>>,
    /// The creation of a worker in reserve, one at a time.
    creation: Option<AbortHandle>,
    pauses: ExponentialBackoff,
    /// After a creation that failed: when to try again.
    next_try: Option<Instant>,
}

impl<T: Trade> Round<T> {
    fn new(keeper: Arc<Keeper<T>>) -> Self {
        let (jobs, pauses) = (JoinSet::new(), pauses());
        Self { keeper, jobs, creation: None, pauses, next_try: None }
    }

    async fn go(mut self) {
        while !self.keeper.is_over.load(Ordering::Acquire) {
            self.bury();
            let due = self.look_after_parts();
            self.rest(due).await;
        }
        // Nobody brings more. What has begun has a bound on its time.
        for burial in self.keeper.stop_burying() {
            self.bury_one(burial);
        }
        // Nobody is left for whom this would be, and it has no bound.
        if let Some(creation) = self.creation.take() {
            creation.abort();
        }
        while let Some(job) = self.jobs.join_next().await {
            end(job);
        }
    }

    /// Begins to destroy whatever was brought.
    fn bury(&mut self) {
        let brought = self.keeper.doomed.with(|queue| queue.as_mut().map(mem::take));
        for burial in brought.into_iter().flatten() {
            self.bury_one(burial);
        }
    }

    fn bury_one(&mut self, burial: Burial<T>) {
        if let Some(limit) = self.keeper.destroy_timeout {
            self.jobs.spawn(burial.carry_out(limit));
        }
    }

    /// Destroys what has expired, creates what is missing, and says when there will be more to do.
    #[allow(clippy::disallowed_methods, reason = "it tells the time to a timer")]
    fn look_after_parts(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.next_try = self.next_try.filter(|&next_try| next_try > now);
        let keeper = Arc::clone(&self.keeper);
        let mut due = self.next_try;
        for part in keeper.shells() {
            drop(part.books.with(|books| books.wake_keeper()));
            // A destructor that panics harms nobody but its worker.
            drop(part.expire().1);
            part.warn_of_overdue();
            if self.may_create() {
                if let Some(slot) = part.books.with(|books| books.open_reserve()) {
                    let vacancy = Vacancy::new(slot, &part);
                    let part = Fragile::new(Arc::clone(&part));
                    self.creation = Some(self.jobs.spawn(create(vacancy, part)));
                }
            }
            let bell = Bell::Keeper(Arc::clone(&keeper));
            let creates = self.may_create();
            if let Some(nanos) = part.books.with(|books| books.rest(bell, creates)) {
                let left = Duration::from_nanos(nanos.saturating_sub(part.clock.now()));
                due = [due, now.checked_add(left)].into_iter().flatten().min();
            }
        }
        due
    }

    fn may_create(&self) -> bool {
        self.creation.is_none() && self.next_try.is_none()
    }

    /// Rests until there is something to do.
    async fn rest(&mut self, due: Option<Instant>) {
        let keeper = Arc::clone(&self.keeper);
        let mut rung = pin!(keeper.wake.notified());
        // Without anything that is due there is no timer.
        let mut timer = due.map(|due| Box::pin(sleep_until(due)));
        let job = poll_fn(|cx| {
            if rung.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            if timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready()) {
                return Poll::Ready(None);
            }
            match self.jobs.poll_join_next_with_id(cx) {
                Poll::Ready(Some(job)) => Poll::Ready(Some(job)),
                _ => Poll::Pending,
            }
        });
        if let Some(job) = job.await {
            self.note(job);
        }
    }

    #[allow(clippy::disallowed_methods, reason = "it tells the time to a timer")]
    fn note(&mut self, job: Result<(Id, PoolResult<bool>), JoinError>) {
        let (id, is_created) = match &job {
            Ok((id, result)) => (*id, matches!(result, Ok(true))),
            Err(error) => (error.id(), false),
        };
        end(job);
        if self.creation.as_ref().map(AbortHandle::id) != Some(id) {
            return;
        }
        self.creation = None;
        if is_created {
            self.pauses = pauses();
        } else {
            // A backend that fails is not hammered.
            let pause = self.pauses.next().unwrap_or(LONGEST_PAUSE);
            self.next_try = Instant::now().checked_add(pause);
        }
    }
}

impl<T: Trade> Drop for Round<T> {
    fn drop(&mut self) {
        // Before another one may start, whose queue this would be.
        let left = self.keeper.stop_burying();
        self.keeper.is_running.store(false, Ordering::Release);
        drop(left);
    }
}

/// Drops what a job has left behind, whose destructor may panic.
fn end<R>(job: R) {
    let mut aftermath = Aftermath::default();
    aftermath.run(|| drop(job));
}

/// The longest pause between two attempts at a worker in reserve.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .build()
}

async fn create<T: Trade>(vacancy: Vacancy<T>, part: Fragile<Arc<Shell<T>>>) -> PoolResult<bool> {
    let request = part.any();
    let created = part.create_spare(request, vacancy, drop).await;
    created.map(|full| full.is_none()).map_err(Stop::into_error)
}

impl<T: Trade> Burial<T> {
    async fn carry_out(mut self, limit: Duration) -> PoolResult<bool> {
        if let Some(unit) = self.unit.take() {
            let shell = Fragile::new(Arc::clone(&self.shell));
            _ = timeout(limit, shell.trade.destroy(unit)).await;
        }
        Ok(true)
    }
}

impl<T: Trade> Drop for Burial<T> {
    fn drop(&mut self) {
        // There is nobody to whom a panic could go.
        let mut aftermath = Aftermath::default();
        if let Some(unit) = self.unit.take() {
            unit.destroy(&mut aftermath);
        }
        if let Some((slot, heir)) = self.place.take() {
            self.shell.gone(&slot);
            let mut errands = self.shell.errands();
            self.shell.with(&mut errands.effects, |books, effects| {
                books.free(slot, heir, effects);
            });
            aftermath.then(errands.run());
        }
    }
}
