use std::hash::{BuildHasher, Hash};
use std::mem;
use std::sync::Arc;

use super::aftermath::{Aftermath, ask};
use super::bell::{Bell, Notify};
use super::hasher::Hasher;
use super::vacancy::Filled;
use super::waiting::{Served, Waiting};
use super::{Dead, Fragile, Loan, Shell, Trade, Unit};
use crate::PoolResult;
use crate::error::{invalid_config, refused};
use crate::scheduler::{Entered, Entry, Lent, Refusal, Slot, Ticket, Wish};

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
    request: Request<T::Key>,
    /// Why the first look was not allowed.
    refusal: Option<Refusal>,
    /// Its place in the order, if it has one.
    ticket: Option<Ticket>,
    /// The bucket that was full when a worker for any key turned out to belong there.
    full: Option<Hashed<T::Key>>,
    /// A request takes its worker first, and lets dead ones go after.
    dead: Dead<'a, T>,
    shell: &'a Arc<Shell<T>>,
}

/// How far a request has come.
enum Turn<'a, T: Trade> {
    Served(Loan<T>),
    /// The worker is dead. The place in the order is kept.
    Dead(Ticket, Dead<'a, T>),
    Waits(Waiting<T>),
}

impl<T: Trade> Shell<T> {
    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    pub(crate) fn begin(self: &Arc<Self>, request: Request<T::Key>) -> Begun<'_, T> {
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend(request.wish(None), now, effects));
        let mut found = None;
        let refusal = match lent {
            Ok(None) => None,
            Err(refusal) => Some(refusal),
            Ok(Some(lent)) => match self.examine(lent.value, lent.slot) {
                Ok(loan) if errands.is_empty() => {
                    return Self::served(loan, request, Aftermath::default());
                }
                Ok(loan) => return Self::served(loan, request, errands.run()),
                Err(dead) => {
                    found = Some((lent.ticket, dead));
                    None
                }
            },
        };
        let (ticket, dead) = errands.run_before(found).unzip();
        let dead = dead.unwrap_or_else(|| Dead::new(self));
        Begun::Pursues(Pursuit { request, refusal, ticket, full: None, dead, shell: self })
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

    fn turn(self: &Arc<Self>, lent: Lent<Unit<T>>) -> Turn<'_, T> {
        match self.examine(lent.value, lent.slot) {
            Ok(loan) => Turn::Served(loan),
            Err(dead) => Turn::Dead(lent.ticket, dead),
        }
    }

    /// Asks a worker that was idle whether it is well.
    #[inline]
    fn examine(self: &Arc<Self>, unit: Unit<T>, slot: Slot) -> Result<Loan<T>, Dead<'_, T>> {
        match ask(|| T::is_well(&unit)) {
            Ok(true) => Ok(Loan::new(unit, slot, self)),
            answer => {
                let panic = answer.err().unwrap_or_default();
                Err(panic.resume_instead_of(Dead::of(unit, slot, self)))
            }
        }
    }
}

impl<'a, T: Trade> Pursuit<'a, T> {
    /// Goes on until the request is served: by an idle worker, one that somebody returns, or a new
    /// one.
    pub(crate) async fn finish(&mut self) -> PoolResult<Loan<T>> {
        if let Some(why) = &self.shell.invalid {
            return Err(invalid_config(why));
        }
        loop {
            let mut waiting = match self.go_on().map_err(refused)? {
                Ok(loan) => return Ok(loan),
                Err(waiting) => waiting,
            };
            let vacancy = match (&mut waiting).await.map_err(refused)? {
                Served::Worker(loan) => return Ok(self.end_with(loan)),
                Served::Create(vacancy) => vacancy,
            };
            let unit = self.shell.trade.create(self.request.key()).await?;
            match vacancy.fill(unit, matches!(self.request, Request::Any)) {
                Filled::Loan(loan) => return Ok(self.end_with(loan)),
                Filled::Cleared => return Err(refused(Refusal::Cleared)),
                Filled::Full(slot, class) => {
                    self.dead.add_empty(slot);
                    self.full = Some(class);
                }
            }
            self.ticket = Some(waiting.ticket());
        }
    }

    /// Looks at idle workers until one is well, or else waits.
    fn go_on(&mut self) -> Result<Result<Loan<T>, Waiting<T>>, Refusal> {
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        loop {
            let turn = match self.look_again() {
                Some(turn) => turn,
                None => self.enter()?,
            };
            match turn {
                Turn::Served(loan) => return Ok(Ok(self.end_with(loan))),
                Turn::Waits(waiting) => return Ok(Err(waiting)),
                Turn::Dead(ticket, dead) => {
                    self.ticket = Some(ticket);
                    self.dead.append(dead);
                }
            }
        }
    }

    /// Looks for another idle worker, of any bucket that may serve.
    fn look_again(&self) -> Option<Turn<'a, T>> {
        let shell = self.shell;
        let place = (self.ticket?, self.dead.last()?);
        let wish = self.request.wish(self.full.as_ref());
        let now = shell.clock.now();
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let lent = shell.books.with(|books| books.lend_again(wish, place, now, T::serves, effects));
        let turn = lent.map(|lent| shell.turn(lent));
        errands.run_before(turn)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(&mut self) -> Result<Turn<'a, T>, Refusal> {
        let (shell, ticket) = (self.shell, self.ticket);
        let held = self.dead.buried();
        let wish = self.request.wish(self.full.as_ref());
        let mut spare_key = Fragile::new(wish.key().cloned());
        let (bell, listener) = Notify::new();
        let mut bell = Some(Bell::Request(bell));
        let now = shell.clock.now();
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let entered = shell.books.with(|books| {
            let (bell, spare_key) = (&mut bell, &mut *spare_key);
            let entry = Entry { wish, ticket, held, bell, spare_key };
            books.enter(entry, now, T::serves, effects)
        })?;
        let mut aftermath = errands.ring();
        let turn = match entered {
            Entered::Lent(lent) => shell.turn(lent),
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
    fn key(&self) -> Option<K> {
        match self {
            Self::Of(hashed) => Some(K::clone(&hashed.key)),
            Self::Sole | Self::Any => None,
        }
    }

    fn wish<'a>(&'a self, full: Option<&'a Hashed<K>>) -> Wish<'a, K> {
        match (self, full) {
            (Self::Sole, _) => Wish::Sole,
            (Self::Of(Hashed { hash, key }), _) => Wish::Of { hash: *hash, key },
            (Self::Any, Some(Hashed { hash, key })) => Wish::AnyOnceRoom { hash: *hash, key },
            (Self::Any, None) => Wish::Any,
        }
    }
}
