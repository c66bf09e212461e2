//! Creations that go on apart from requests: what comes of them is for whoever waits, or becomes idle.

use super::events::{BookEffects, Books};
use super::world::{Request, Unit, Wanted, World, serves};
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{Arrival, Birth, Effects, End, Life, Slot};

/// A creation that no request sees to.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Creation {
    /// The request for which it was begun, be it gone.
    pub(super) by: Option<usize>,
    pub(super) wanted: Wanted,
    pub(super) slot: Slot,
}

impl World {
    /// The request keeps its place.
    pub(super) fn begin_apart(&mut self, request: Request, slot: Slot) {
        let Request { number, wanted, ticket, .. } = request;
        self.apart.push(Creation { by: Some(number), wanted, slot });
        self.enter(request, Some(ticket), Vec::new());
    }

    pub(super) fn created_apart(&mut self, index: usize, class: u32) {
        let Creation { by, wanted, slot } = self.apart.remove(index);
        // A creation ends, and there is a worker.
        self.freed += 1;
        let unit = self.new_unit(class);
        let bucket = wanted.is_none().then_some((7, &class));
        let arrival = Arrival { bucket, life: self.life(), took: 1, now: self.now };
        let mut effects = Effects::default();
        let vain =
            self.with(&mut effects, |books, effects| bank(books, slot, unit, arrival, effects));
        self.carry_out(effects);
        self.expected.created += 1;
        self.expected.destroyed += u64::from(vain.is_some());
        match vain {
            None | Some((Birth::Welcome, _)) => {}
            Some((Birth::Outdated, mut slot)) => {
                slot.begins();
                self.apart.push(Creation { by, wanted, slot });
            }
            Some((Birth::Refused(_), slot)) => self.free_slot(slot),
            Some((Birth::Full, slot)) => {
                self.free_slot(slot);
                self.bounce(by, class);
            }
        }
    }

    /// Whoever began it ends with it.
    pub(super) fn fails_apart(&mut self, index: usize) {
        let Creation { by, mut slot, .. } = self.apart.remove(index);
        slot.has_failed();
        self.expected.creations_failed += 1;
        self.free_slot(slot);
        let of_it = |request: &Request| Some(request.number) == by;
        if let Some(index) = self.waiting.iter().position(of_it) {
            self.freed += 2;
            let request = self.cancel(index);
            self.end(request, End::Failed);
        }
    }

    /// Whoever began it, and has not been handed a worker, may create again once there is room.
    fn bounce(&mut self, by: Option<usize>, class: u32) {
        let of_it = |request: &Request| Some(request.number) == by;
        let Some(index) = self.waiting.iter().position(of_it) else { return };
        let state = &self.waiter(self.waiting[index].ticket).state;
        if matches!(state, WaiterState::Handed(_) | WaiterState::Refused(_)) {
            return;
        }
        self.freed += 2;
        let request = self.cancel(index);
        let ticket = request.ticket;
        let request = Request { full: Some(class), waiter: None, is_rung: false, ..request };
        self.enter(request, Some(ticket), Vec::new());
    }

    pub(super) fn new_unit(&mut self, class: u32) -> Unit {
        self.last_id += 1;
        Unit { class, id: self.last_id }
    }

    /// What the newest worker brings.
    pub(super) fn life(&self) -> Option<Life> {
        let life = Life { id: self.last_id as u64, key: None, span: self.span.unwrap_or(u64::MAX) };
        self.keeps_records().then_some(life)
    }
}

/// Gives a new worker to whoever waits for one, or says why it is not welcome.
fn bank(
    books: &mut Books,
    mut slot: Slot,
    unit: Unit,
    arrival: Arrival<'_, u32>,
    effects: &mut BookEffects,
) -> Option<(Birth, Slot)> {
    let now = arrival.now;
    match books.created_spare(&mut slot, arrival, &mut Some(unit.class), effects) {
        Birth::Welcome => {
            let plan = books.plan_return(&slot, &unit, now, serves);
            books.commit_return(plan, slot, unit, now, effects);
            None
        }
        vain => Some((vain, slot)),
    }
}
