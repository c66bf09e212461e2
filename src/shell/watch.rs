//! What is told to observers, and who holds what. Nothing of this happens where nobody watches.

use std::cmp::Reverse;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::aftermath::ask;
use super::request::{Hashed, Request};
use super::{Loan, Shell, Trade};
use crate::scheduler::{Held, Slot};
use crate::{PoolDestroyReason, PoolObserver, PoolOrigin, PoolOutstanding, PoolStep};

/// A place in the source.
pub(crate) type Place = &'static Location<'static>;

/// Who makes a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// Where in the source.
    place: Place,
    /// When, by the pool's clock, if anybody watches.
    begun: u64,
}

impl Caller {
    #[inline]
    pub(super) fn new(place: Place, begun: u64) -> Self {
        Self { place, begun }
    }
}

impl<T: Trade> Shell<T> {
    pub(super) fn since(&self, then: u64) -> Duration {
        Duration::from_nanos(self.clock.read().saturating_sub(then))
    }

    /// Tells whoever observes the pool.
    pub(super) fn tell(
        &self,
        key: Option<&str>,
        worker: Option<u64>,
        event: impl Fn(&dyn PoolObserver, &PoolOrigin<'_>),
    ) {
        let origin = PoolOrigin { pool: self.policy.name.as_deref(), key, worker };
        self.policy.observers.tell(|observer| event(observer, &origin));
    }

    /// What the factory calls a key, if anybody wants to know.
    pub(super) fn text_of(&self, key: &T::Key) -> Option<Arc<str>> {
        if !self.is_watched {
            return None;
        }
        ask(|| self.trade.label(key)).ok().flatten().map(Arc::from)
    }

    /// The same for whatever a request asks for.
    pub(super) fn text_of_request(&self, request: &Request<T::Key>) -> Option<Arc<str>> {
        match request {
            Request::Of(Hashed { key, .. }) => self.text_of(key),
            Request::Sole | Request::Any => None,
        }
    }

    /// Whoever makes a request now.
    pub(super) fn caller(&self, place: Place) -> Caller {
        Caller::new(place, self.clock.now())
    }

    /// How long a request has taken.
    pub(super) fn taken_by(&self, caller: Caller) -> Duration {
        self.since(caller.begun)
    }

    /// A request has its worker.
    #[cold]
    pub(super) fn acquired(self: &Arc<Self>, loan: &Loan<T>, caller: Caller, step: PoolStep) {
        if !self.is_watched {
            return;
        }
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let held = self.books.with(|books| books.hold(loan.slot(), caller.place, effects));
        drop(errands.run());
        if let Some(Held { id, key, .. }) = held {
            let took = self.since(caller.begun);
            self.tell(key.as_deref(), Some(id), |it, origin| it.acquired(origin, took, step));
        }
    }

    /// A guard gives its worker back.
    #[cold]
    pub(super) fn returned(&self, slot: &Slot) {
        if !self.is_watched {
            return;
        }
        let Some(held) = self.books.with(|books| books.let_go(slot)) else { return };
        let (key, time) = (held.key.as_deref(), self.since(held.since));
        // One at a time, for each may panic.
        if held.is_overdue {
            self.tell(key, Some(held.id), |it, origin| it.came_back(origin, held.place, time));
        }
        self.tell(key, Some(held.id), |it, origin| it.returned(origin, time));
    }

    /// A worker has left the pool, whose slot is not free yet.
    pub(super) fn gone(&self, slot: &Slot) {
        if !self.is_watched {
            return;
        }
        if let Some((id, key)) = self.books.with(|books| books.name(slot)) {
            self.tell_of_end(id, key.as_deref(), slot.reason());
        }
    }

    pub(super) fn tell_of_end(&self, id: u64, key: Option<&str>, reason: PoolDestroyReason) {
        self.tell(key, Some(id), |it, origin| it.destroyed(origin, reason));
    }

    /// Warns of whoever holds a worker for too long, once.
    pub(super) fn warn_of_overdue(&self) {
        if !self.is_watched {
            return;
        }
        let now = self.clock.read();
        for held in self.books.with(|books| books.find_overdue(now)) {
            let (key, time) = (held.key.as_deref(), self.since(held.since));
            self.tell(key, Some(held.id), |it, origin| {
                it.held_too_long(origin, held.place, time);
            });
        }
    }

    /// What is out, the longest first.
    pub(super) fn outstanding(&self) -> Vec<PoolOutstanding> {
        let held = self.books.with(|books| books.held());
        let outstanding = held.into_iter().map(|held| PoolOutstanding {
            worker: held.id,
            key: held.key,
            held: self.since(held.since),
            place: held.place,
            label: held.label,
        });
        outstanding.collect()
    }
}

/// The longest first.
pub(super) fn sorted(mut outstanding: Vec<PoolOutstanding>) -> Vec<PoolOutstanding> {
    outstanding.sort_by_key(|one| (Reverse(one.held), one.worker));
    outstanding
}
