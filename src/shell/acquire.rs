use std::sync::Arc;

use super::bell::Notify;
use super::vacancy::Filled;
use super::waiting::{Served, Waiting};
use super::{Loan, Shell, Trade, Unit, Vacancy};
use crate::PoolResult;
use crate::error::invalid_config;
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
    hash: u64,
    key: K,
}

/// How far a request has come.
enum Turn<T: Trade> {
    Served(Loan<T>),
    /// The worker is dead or does not belong here. The place in the order is kept.
    InVain(Ticket, Vacancy<T>),
    Waits(Waiting<T>),
}

impl<T: Trade> Shell<T> {
    pub(crate) fn request_of(&self, key: T::Key) -> Request<T::Key> {
        Request::Of(self.hashed(key))
    }

    fn hashed(&self, key: T::Key) -> Hashed<T::Key> {
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
        let mut dead = Vec::new();
        let mut turn = match self.look(&request)? {
            Some(turn) => turn,
            None => self.enter(request.wish(None), None)?,
        };
        let loan = loop {
            turn = match turn {
                Turn::Served(loan) => break loan,
                Turn::InVain(ticket, vacancy) => {
                    dead.push(vacancy);
                    let wish = request.wish(full.as_ref());
                    match self.look_again(wish, ticket) {
                        Some(turn) => turn,
                        None => self.enter(wish, Some((ticket, last_slot(&mut dead))))?,
                    }
                }
                Turn::Waits(waiting) => {
                    let ticket = waiting.ticket();
                    let vacancy = match waiting.await? {
                        Served::Worker(loan) => break loan,
                        Served::Create(vacancy) => vacancy,
                    };
                    let unit = self.trade.create(request.key()).await?;
                    match vacancy.fill(unit, matches!(request, Request::Any)) {
                        Filled::Loan(loan) => break loan,
                        Filled::Cleared => return Err(Refusal::Cleared.into()),
                        Filled::Full(vacancy, key) => {
                            full = Some(self.hashed(key));
                            Turn::InVain(ticket, vacancy)
                        }
                    }
                }
            };
        };
        // Not at the end of the function, where a panic in them would lose the loan.
        drop((full, request, dead));
        Ok(loan)
    }

    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    fn look(self: &Arc<Self>, request: &Request<T::Key>) -> Result<Option<Turn<T>>, Refusal> {
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend(request.wish(None), now, effects))?;
        let turn = lent.map(|lent| self.examine(lent));
        Ok(errands.run_before(turn))
    }

    /// Looks for another idle worker, of any bucket that may serve.
    fn look_again(self: &Arc<Self>, wish: Wish<'_, T::Key>, ticket: Ticket) -> Option<Turn<T>> {
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let lent = self.books.with(|books| books.lend_again(wish, ticket, now, T::serves, effects));
        let turn = lent.map(|lent| self.examine(lent));
        errands.run_before(turn)
    }

    /// Goes to the line, with all prepared that a place there needs.
    fn enter(
        self: &Arc<Self>,
        wish: Wish<'_, T::Key>,
        in_vain: Option<(Ticket, Vacancy<T>)>,
    ) -> Result<Turn<T>, Refusal> {
        let (ticket, mut vacancy) = in_vain.unzip();
        let mut no_slot = None;
        let mut spare_key = wish.key().cloned();
        let (bell, listener) = Notify::new();
        let mut bell = Some(bell);
        let now = self.clock.now();
        let mut errands = self.errands();
        let entered = self.books.with(|books| {
            let entry = Entry {
                wish,
                ticket,
                held: vacancy.as_mut().map_or(&mut no_slot, Vacancy::slot),
                bell: &mut bell,
                spare_key: &mut spare_key,
            };
            books.enter(entry, now, T::serves, &mut errands.effects)
        })?;
        let turn = match entered {
            Entered::Lent(lent) => self.examine(lent),
            Entered::Waits(ticket) => Turn::Waits(Waiting::new(ticket, listener, self)),
        };
        drop((spare_key, bell));
        Ok(errands.run_before(turn))
    }

    /// The worker comes first; what has to be destroyed, after.
    #[inline]
    fn examine(self: &Arc<Self>, Lent { value, slot, ticket }: Lent<Unit<T>>) -> Turn<T> {
        match Loan::new(value, slot, self).examined() {
            Ok(loan) => Turn::Served(loan),
            Err(vacancy) => Turn::InVain(ticket, vacancy),
        }
    }
}

/// Destroys dead workers, and frees all their slots but one.
fn last_slot<T: Trade>(dead: &mut Vec<Vacancy<T>>) -> Vacancy<T> {
    let mut last = dead.pop().expect("there is one at least");
    dead.clear();
    last.bury_remains();
    last
}

impl<K: Clone> Request<K> {
    fn key(&self) -> Option<K> {
        match self {
            Self::Of(hashed) => Some(hashed.key.clone()),
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
