//! The shell around the scheduler: it alone locks, wakes, destroys and reads the clock.
//!
//! An event runs under the lock; its effects are carried out after, what was delivered first. Each
//! slot that the scheduler has given out is in the hands of a token, [`Loan`] or [`Vacancy`](vacancy::Vacancy), and
//! each place in the line in those of a [`Waiting`](waiting::Waiting); their `Drop` gives it back,
//! on every way out.

mod account;
mod acquire;
mod aftermath;
mod apart;
mod bell;
mod clear;
mod clock;
mod close;
mod creation;
mod dead;
mod errands;
mod fragile;
mod handle;
mod hasher;
mod keeper;
mod loan;
mod lock;
mod policy;
mod pursuit;
mod request;
mod retain;
mod trade;
mod vacancy;
mod verdict;
mod waiting;
mod watch;
mod within;

use std::sync::Arc;

use self::aftermath::Aftermath;
use self::bell::Bell;
use self::clock::Clock;
use self::dead::Dead;
use self::errands::Errands;
use self::hasher::Hasher;
use self::lock::Lock;
use crate::PoolResult;
use crate::error::invalid_config;
use crate::limits::Limits;
use crate::scheduler::{Counts, Doomed, Effects, Scheduler, Slot};

pub(crate) use self::acquire::Begun;
pub(crate) use self::aftermath::ask;
pub(crate) use self::fragile::Fragile;
pub(crate) use self::handle::Handle;
pub(crate) use self::keeper::Keeper;
pub(crate) use self::loan::Loan;
pub(crate) use self::policy::{CreationPolicy, Policy};
pub(crate) use self::request::Request;
pub(crate) use self::trade::{Filed, Trade, Unit, file, finished, made};

type Books<T> = Scheduler<<T as Trade>::Key, Unit<T>, Bell<T>>;
type BookEffects<T> = Effects<<T as Trade>::Key, Unit<T>, Bell<T>>;

/// What a pool, or a part of one, and its guards share.
pub(crate) struct Shell<T: Trade> {
    trade: T,
    hasher: Hasher,
    clock: Clock,
    /// For how many nanoseconds an idle worker may rest and still need no recycling.
    fresh_for: u64,
    policy: Arc<Policy>,
    /// Whether anybody wants to know who gets what.
    is_watched: bool,
    /// Why no request can be served, if the limits make no sense.
    invalid: Option<&'static str>,
    books: Lock<Books<T>>,
    keeper: Option<Arc<Keeper<T>>>,
}

impl<T: Trade> Shell<T> {
    fn new(
        trade: T,
        hasher: Hasher,
        limits: &Limits,
        sole: Option<T::Key>,
        keeper: Option<Arc<Keeper<T>>>,
    ) -> Arc<Self> {
        let rules = limits.rules;
        Arc::new(Self {
            trade,
            hasher,
            clock: Clock::new(rules.idle_timeout.is_some() || limits.policy.needs_clock()),
            fresh_for: limits.policy.recycle_after.unwrap_or(u64::MAX),
            policy: Arc::clone(&limits.policy),
            is_watched: limits.policy.is_watched,
            invalid: limits.invalid,
            books: Lock::new(Scheduler::new(rules, sole)),
            keeper,
        })
    }

    /// Whether the limits and options make sense.
    fn check_valid(&self) -> PoolResult<()> {
        self.invalid.map_or(Ok(()), |why| Err(invalid_config(why)))
    }

    /// Starts the task of the pool's own, if there is to be one and it does not run.
    fn start_keeper(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.start();
        }
    }

    /// A request for whatever worker there may be.
    fn any(&self) -> Request<T::Key> {
        if self.books.with(|books| books.has_sole()) { Request::Sole } else { Request::Any }
    }

    /// Hands a worker that is to be destroyed to the keeper, if that sees to it.
    fn bury(self: &Arc<Self>, doomed: Doomed<Unit<T>>) -> Result<(), Doomed<Unit<T>>> {
        match &self.keeper {
            Some(keeper) => keeper.bury(doomed, self),
            None => Err(doomed),
        }
    }

    /// Runs an event that may give something out, which is not for those whose deadline has come.
    #[inline]
    fn with<R>(
        &self,
        effects: &mut BookEffects<T>,
        event: impl FnOnce(&mut Books<T>, &mut BookEffects<T>) -> R,
    ) -> R {
        self.books.with(|books| {
            self.tell_time(books, effects);
            event(books, effects)
        })
    }

    /// Ends the requests whose deadline has come.
    #[inline]
    fn tell_time(&self, books: &mut Books<T>, effects: &mut BookEffects<T>) {
        if books.has_deadlines() {
            books.time_out(self.clock.read(), effects);
        }
    }

    /// Destroys what has expired, and says how many that were.
    fn expire(self: &Arc<Self>) -> (usize, Aftermath) {
        let now = self.clock.now();
        let mut errands = self.errands();
        let count = self.with(&mut errands.effects, |books, effects| books.expire(now, effects));
        (count, errands.run())
    }

    /// The pool itself is gone: nobody can ask for what is idle or still comes back.
    fn dissolve(self: &Arc<Self>) -> Aftermath {
        let mut errands = self.errands();
        self.books.with(|books| books.retire_all(&mut errands.effects));
        errands.run()
    }

    /// `None` if the lock is taken.
    fn counts(&self) -> Option<Counts> {
        self.books.try_with(|books| books.counts())
    }

    /// A worker in hand is at an end; its slot is free once it is destroyed.
    fn destroy(self: &Arc<Self>, unit: Unit<T>, slot: Slot) -> Aftermath {
        let mut errands = self.errands();
        errands.effects.doom(unit, slot, None);
        errands.run()
    }

    /// Gives a slot back in which there is no worker.
    fn free(self: &Arc<Self>, slot: Slot) -> Aftermath {
        let mut errands = self.errands();
        self.with(&mut errands.effects, |books, effects| books.free(slot, None, effects));
        errands.run()
    }
}
