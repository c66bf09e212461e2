use std::sync::Arc;

use super::aftermath::Aftermath;
use super::bell::Notify;
use super::vacancy::Filled;
use super::waiting::{Served, Waiting};
use super::{Dead, Fragile, Loan, Shell, Trade, Unit};
use crate::PoolResult;
use crate::error::{invalid_config, refused};
use crate::scheduler::{Entered, Entry, Lent, Refusal, Ticket, Wish};

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

/// How far a request has come.
enum Turn<T: Trade> {
    Served(Loan<T>),
    /// The worker is dead. The place in the order is kept.
    Dead(Ticket),
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

    /// Gets a worker: an idle one, one that somebody returns, or a new one.
    pub(crate) async fn acquire(self: &Arc<Self>, request: Request<T::Key>) -> PoolResult<Loan<T>> {
        if let Some(why) = &self.invalid {
            return Err(invalid_config(why));
        }
        // The bucket that was full when a worker for any key turned out to belong there.
        let mut full = None;
        // A request takes its worker first, and lets dead ones go after.
        let mut dead = Dead::new(self);
        let mut turn = match self.look(&request, &mut dead).map_err(refused)? {
            Some(turn) => turn,
            None => self.enter(request.wish(None), None, &mut dead).map_err(refused)?,
        };
        let loan = loop {
            turn = match turn {
                Turn::Served(loan) => break loan,
                Turn::Dead(ticket) => {
                    let wish = request.wish(full.as_ref());
                    match self.look_again(wish, ticket, &mut dead) {
                        Some(turn) => turn,
                        None => self.enter(wish, Some(ticket), &mut dead).map_err(refused)?,
                    }
                }
                Turn::Waits(waiting) => {
                    let ticket = waiting.ticket();
                    let vacancy = match waiting.await.map_err(refused)? {
                        Served::Worker(loan) => break loan,
                        Served::Create(vacancy) => vacancy,
                    };
                    let unit = self.trade.create(request.key()).await?;
                    match vacancy.fill(unit, matches!(request, Request::Any)) {
                        Filled::Loan(loan) => break loan,
                        Filled::Cleared => return Err(refused(Refusal::Cleared)),
                        Filled::Full(slot, class) => {
                            dead.add_empty(slot);
                            full = Some(class);
                            let wish = request.wish(full.as_ref());
                            self.enter(wish, Some(ticket), &mut dead).map_err(refused)?
                        }
                    }
                }
            };
        };
        // Not at the end of the function, where a panic in them would lose the loan.
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(dead));
        aftermath.run(|| drop(full));
        aftermath.run(|| drop(request));
        Ok(aftermath.resume_instead_of(loan))
    }

    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    fn look(
        self: &Arc<Self>,
        request: &Request<T::Key>,
        dead: &mut Dead<'_, T>,
    ) -> Result<Option<Turn<T>>, Refusal> {
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend(request.wish(None), now, effects))?;
        let turn = lent.map(|lent| self.examine(lent, dead));
        Ok(errands.run_before(turn))
    }

    /// Looks for another idle worker, of any bucket that may serve.
    fn look_again(
        self: &Arc<Self>,
        wish: Wish<'_, T::Key>,
        ticket: Ticket,
        dead: &mut Dead<'_, T>,
    ) -> Option<Turn<T>> {
        let place = (ticket, dead.last()?);
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend_again(wish, place, now, T::serves, effects));
        let turn = lent.map(|lent| self.examine(lent, dead));
        errands.run_before(turn)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(
        self: &Arc<Self>,
        wish: Wish<'_, T::Key>,
        ticket: Option<Ticket>,
        dead: &mut Dead<'_, T>,
    ) -> Result<Turn<T>, Refusal> {
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
            Entered::Lent(lent) => self.examine(lent, dead),
            Entered::Waits(ticket) => Turn::Waits(Waiting::new(ticket, listener, self)),
        };
        let mut aftermath = errands.run();
        aftermath.run(|| drop(spare_key));
        Ok(aftermath.resume_instead_of(turn))
    }

    /// The worker comes first; what has to be destroyed, after.
    #[inline]
    fn examine(self: &Arc<Self>, lent: Lent<Unit<T>>, dead: &mut Dead<'_, T>) -> Turn<T> {
        match Loan::new(lent.value, lent.slot, self).examined(dead) {
            Some(loan) => Turn::Served(loan),
            None => Turn::Dead(lent.ticket),
        }
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
