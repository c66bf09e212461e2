use std::sync::Arc;

use super::aftermath::{Aftermath, ask};
use super::bell::Notify;
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
    first: Result<Option<Turn<'a, T>>, Refusal>,
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
    pub(crate) fn request_of(&self, key: T::Key) -> Request<T::Key> {
        Request::Of(self.hashed(key))
    }

    pub(super) fn hashed(&self, key: T::Key) -> Hashed<T::Key> {
        let key = Fragile::new(key);
        Hashed { hash: self.hash(&key), key }
    }

    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    pub(crate) fn begin(self: &Arc<Self>, request: Request<T::Key>) -> Begun<'_, T> {
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend(request.wish(None), now, effects));
        let first = match lent {
            Ok(Some(lent)) if errands.is_empty() => match self.examine(lent.value, lent.slot) {
                Ok(loan) => {
                    // Not at the end of the function, where a panic in it would lose the loan.
                    let mut aftermath = Aftermath::default();
                    aftermath.run(|| drop(request));
                    return Begun::Served(aftermath.resume_instead_of(loan));
                }
                Err(dead) => Ok(Some(Turn::Dead(lent.ticket, dead))),
            },
            lent => {
                let first = lent.map(|lent| lent.map(|lent| self.turn(lent)));
                errands.run_before(first)
            }
        };
        Begun::Pursues(Pursuit { request, first, shell: self })
    }

    /// Looks for another idle worker, of any bucket that may serve.
    fn look_again(
        self: &Arc<Self>,
        wish: Wish<'_, T::Key>,
        ticket: Ticket,
        dead: &Dead<'_, T>,
    ) -> Option<Turn<'_, T>> {
        let place = (ticket, dead.last()?);
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend_again(wish, place, now, T::serves, effects));
        let turn = lent.map(|lent| self.turn(lent));
        errands.run_before(turn)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(
        self: &Arc<Self>,
        wish: Wish<'_, T::Key>,
        ticket: Option<Ticket>,
        dead: &mut Dead<'_, T>,
    ) -> Result<Turn<'_, T>, Refusal> {
        let held = dead.buried();
        let mut spare_key = wish.key().cloned();
        let (bell, listener) = Notify::new();
        let mut bell = Some(bell);
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let entered = self.books.with(|books| {
            let (bell, spare_key) = (&mut bell, &mut spare_key);
            let entry = Entry { wish, ticket, held, bell, spare_key };
            books.enter(entry, now, T::serves, effects)
        })?;
        let turn = match entered {
            Entered::Lent(lent) => self.turn(lent),
            Entered::Waits(ticket) => Turn::Waits(Waiting::new(ticket, listener, self)),
        };
        let mut aftermath = errands.run();
        aftermath.run(|| drop(spare_key));
        Ok(aftermath.resume_instead_of(turn))
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

impl<T: Trade> Pursuit<'_, T> {
    /// Goes on until the request is served: by an idle worker, one that somebody returns, or a new
    /// one.
    pub(crate) async fn finish(self) -> PoolResult<Loan<T>> {
        let Self { request, first, shell } = self;
        if let Some(why) = &shell.invalid {
            return Err(invalid_config(why));
        }
        // The bucket that was full when a worker for any key turned out to belong there.
        let mut full = None;
        // A request takes its worker first, and lets dead ones go after.
        let mut dead = Dead::new(shell);
        let mut turn = match first.map_err(refused)? {
            Some(turn) => turn,
            None => shell.enter(request.wish(None), None, &mut dead).map_err(refused)?,
        };
        let loan = loop {
            turn = match turn {
                Turn::Served(loan) => break loan,
                Turn::Dead(ticket, one) => {
                    dead.append(one);
                    let wish = request.wish(full.as_ref());
                    match shell.look_again(wish, ticket, &dead) {
                        Some(turn) => turn,
                        None => shell.enter(wish, Some(ticket), &mut dead).map_err(refused)?,
                    }
                }
                Turn::Waits(waiting) => {
                    let ticket = waiting.ticket();
                    let vacancy = match waiting.await.map_err(refused)? {
                        Served::Worker(loan) => break loan,
                        Served::Create(vacancy) => vacancy,
                    };
                    let unit = shell.trade.create(request.key()).await?;
                    match vacancy.fill(unit, matches!(request, Request::Any)) {
                        Filled::Loan(loan) => break loan,
                        Filled::Cleared => return Err(refused(Refusal::Cleared)),
                        Filled::Full(slot, class) => {
                            dead.add_empty(slot);
                            full = Some(class);
                            let wish = request.wish(full.as_ref());
                            shell.enter(wish, Some(ticket), &mut dead).map_err(refused)?
                        }
                    }
                }
            };
        };
        // As in `begin`.
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(dead));
        aftermath.run(|| drop(full));
        aftermath.run(|| drop(request));
        Ok(aftermath.resume_instead_of(loan))
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
