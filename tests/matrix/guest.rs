//! Who calls a pool, and what becomes of the call.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;

use sfo_pool::{PoolErrorCode, PoolResult};

use self::Fate::{Failed, Left, Panicked, Refused, Served, TimedOut, Waits};
use crate::common::mines::*;

/// A row of the matrix.
pub trait Row: Ground {
    /// What the call under test and some others ask for.
    const CALL: u32 = 1;

    /// Why no worker is ever created in vain for a full class; `None` if one is.
    const NEVER_FULL: Option<&str> = Some("a request that names its key creates for that alone");

    /// Why nothing idle ever makes way for another request; `None` if it does.
    const NEVER_EVICTS: Option<&str>;
}

impl Row for General {
    const NEVER_EVICTS: Option<&str> = Some("an idle worker fits every request");
}

impl Row for Keyed {
    const NEVER_EVICTS: Option<&str> = Some("keys share no limit");
}

impl Row for Classified {
    const NEVER_EVICTS: Option<&str> = None;
}

impl Row for Any {
    const CALL: u32 = 0;
    const NEVER_FULL: Option<&str> = None;
    const NEVER_EVICTS: Option<&str> = Some("an idle worker fits every request");
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Waits,
    /// It got its worker, or its clear came to the end.
    Served,
    Failed,
    /// Failed, for the pool was being cleared when it came, or is closed.
    Refused,
    TimedOut,
    Panicked,
    Left,
}

enum State<G: Row> {
    Calls(Attempt<Option<PoolResult<G::Guard>>>),
    Has(G::Guard),
}

/// Somebody who calls the pool, and comes back when he is woken.
pub struct Guest<G: Row> {
    state: Cell<Option<State<G>>>,
    pub fate: Cell<Fate>,
    is_woken: Arc<AtomicBool>,
    pub is_clear: bool,
    tally: Arc<Tally>,
}

pub type Player<G> = Rc<Guest<G>>;

/// Ends a panic that was meant.
pub fn take<R>(act: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Err(panic) if !is_boom(&*panic) => resume_unwind(panic),
        result => result.ok(),
    }
}

impl<G: Row> Guest<G> {
    /// One who has not made his first move.
    pub fn new(
        is_clear: bool,
        attempt: Attempt<Option<PoolResult<G::Guard>>>,
        tally: &Arc<Tally>,
    ) -> Self {
        Self {
            state: Cell::new(Some(State::Calls(attempt))),
            fate: Cell::new(Waits),
            is_woken: Arc::new(AtomicBool::new(true)),
            is_clear,
            tally: Arc::clone(tally),
        }
    }

    pub fn poll(&self) {
        let mut attempt = match self.state.take() {
            Some(State::Calls(attempt)) if self.is_woken.swap(false, SeqCst) => attempt,
            state => return self.state.set(state),
        };
        self.tally.has_met_gate();
        let result = take(|| poll_as(&mut attempt, &self.is_woken));
        self.fate.set(match result {
            Some(Poll::Pending) => {
                // No waker is kept at the gate.
                self.is_woken.fetch_or(self.tally.has_met_gate(), SeqCst);
                return self.state.set(Some(State::Calls(attempt)));
            }
            Some(Poll::Ready(Some(Ok(guard)))) => {
                guard.seize();
                self.state.set(Some(State::Has(guard)));
                Served
            }
            Some(Poll::Ready(None)) => Served,
            Some(Poll::Ready(Some(Err(error)))) => match error.code() {
                PoolErrorCode::Clearing | PoolErrorCode::Closed => Refused,
                PoolErrorCode::Timeout => TimedOut,
                _ => Failed,
            },
            None => Panicked,
        });
        take(|| drop(attempt));
    }

    pub fn leave(&self) {
        self.leave_by(drop);
    }

    pub fn leave_in_panic(&self) {
        self.leave_by(|_state| boom());
    }

    fn leave_by(&self, end: fn(State<G>)) {
        let Some(state) = self.state.take() else { return };
        self.fate.set(Left);
        if let State::Has(guard) = &state {
            guard.release();
        }
        take(|| end(state));
    }

    pub fn has_worker(&self) -> bool {
        self.fate.get() == Served && !self.is_clear
    }

    pub fn may_go_on(&self) -> bool {
        self.fate.get() == Waits && self.is_woken.load(SeqCst)
    }

    pub fn waits(&self) -> bool {
        self.fate.get() == Waits && !self.may_go_on()
    }
}
