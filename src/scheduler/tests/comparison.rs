//! What the scheduler and its naive model have to agree on, and the two side by side.

use std::panic::{self, AssertUnwindSafe};

use super::choices::{Bounds, Choice};
use super::model::Model;
use super::world::{Unit, Wanted, World};
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{Phase, Refusal, Rules, Slot, Ticket};

/// Something that happens; it names requests by their number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Request(usize, Wanted),
    /// It waits no longer than until time passes.
    HurriedRequest(usize, Wanted),
    TryRequest(usize, Wanted),
    IsWell(usize),
    IsDead(usize, Unit),
    Collect(usize),
    Cancel(usize),
    Created(usize, Unit),
    CreationFails(usize),
    Rest(bool),
    OpenReserve,
    OpenSpare(Wanted),
    CreatedApart(usize, Unit),
    FailsApart(usize),
    Return(Unit),
    ReturnDead(Unit),
    Destroyed(Unit),
    Expire,
    TimePasses,
    Clear,
    AbandonClear,
    EndClear,
    Close,
    Invalidate,
    Resize(usize),
    TakeAll,
    Restore(Unit),
    Deny(Unit),
}

/// What a request has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Held {
    Nothing,
    /// Nothing yet, but a worker is being destroyed so that it can create.
    Promise,
    Asks(Unit),
    Handed(Unit),
    MayCreate,
    /// Since all workers of before had been given up so many times.
    Creates(u64),
    Refused(Refusal),
    /// The request has ended.
    Over,
}

impl Held {
    pub(super) fn is_creation(self) -> bool {
        matches!(self, Self::MayCreate | Self::Creates(_))
    }
}

/// Where a worker is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// Since when.
    Idle(u64),
    /// Borrowed, being asked, or handed to a request, since all workers of before had been given up
    /// so many times.
    Lent(u64),
    /// Being destroyed; the request that waits for it.
    Doomed(Option<usize>),
}

/// What the two have to agree on.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot {
    phase: Phase,
    /// What the last event's caller was refused with.
    refused: Option<Refusal>,
    total: usize,
    requests: Vec<(usize, Held)>,
    /// For whom creations that go on apart were begun, and since all workers of before had been
    /// given up so many times.
    apart: Vec<(Option<usize>, u64)>,
    /// Whether the keeper rests.
    rests: bool,
    idle: Vec<(Unit, Place)>,
    others: Vec<(Unit, Place)>,
    /// How often each worker has been used that is not being destroyed.
    uses: Vec<(usize, u64)>,
}

/// One that is to be put in order.
pub(super) struct Sketch {
    pub(super) phase: Phase,
    pub(super) refused: Option<Refusal>,
    pub(super) total: usize,
    pub(super) requests: Vec<(usize, Held)>,
    pub(super) apart: Vec<(Option<usize>, u64)>,
    pub(super) rests: bool,
    pub(super) workers: Vec<(Unit, Place)>,
    pub(super) uses: Vec<(usize, u64)>,
}

impl Snapshot {
    /// Of the order of the workers, that of the idle ones counts; of heirs, those that wait.
    pub(super) fn new(rules: &Rules, sketch: Sketch) -> Self {
        let Sketch { phase, refused, total, requests, apart, rests, workers, mut uses } = sketch;
        let waits = |heir: &usize| requests.contains(&(*heir, Held::Promise));
        let workers = workers.into_iter().map(|(unit, place)| match place {
            Place::Doomed(heir) => (unit, Place::Doomed(heir.filter(waits))),
            place => (unit, place),
        });
        let is_idle = |worker: &(Unit, Place)| matches!(worker.1, Place::Idle(_));
        let (mut idle, mut others): (Vec<_>, Vec<_>) = workers.partition(is_idle);
        if !rules.orders_across() {
            idle.sort_by_key(|(unit, _)| unit.class);
        }
        others.sort_by_key(|(unit, _)| unit.id);
        uses.sort();
        Self { phase, refused, total, requests, apart, rests, idle, others, uses }
    }
}

impl World {
    /// What a choice means, said before it is carried out.
    fn step(&self, choice: Choice) -> Step {
        let next_number = self.last_number + 1;
        let last_taken = || self.taken.last().expect("a worker that was taken out").value;
        let next_unit = |class| Unit { class, id: self.last_id + 1 };
        match choice {
            Choice::Request(wanted) => Step::Request(next_number, wanted),
            Choice::HurriedRequest(wanted) => Step::HurriedRequest(next_number, wanted),
            Choice::TryRequest(wanted) => Step::TryRequest(next_number, wanted),
            Choice::IsWell(index) => Step::IsWell(self.asked[index].0.number),
            Choice::IsDead(index) => Step::IsDead(self.asked[index].0.number, self.asked[index].1),
            Choice::Collect(index) => Step::Collect(self.waiting[index].number),
            Choice::Cancel(index) => Step::Cancel(self.waiting[index].number),
            Choice::CreatedAs(index, class) => {
                Step::Created(self.creating[index].0.number, next_unit(class))
            }
            Choice::CreationFails(index) => Step::CreationFails(self.creating[index].0.number),
            Choice::Rest(creates) => Step::Rest(creates),
            Choice::OpenReserve => Step::OpenReserve,
            Choice::OpenSpare(wanted) => Step::OpenSpare(wanted),
            Choice::CreatedApart(index, class) => Step::CreatedApart(index, next_unit(class)),
            Choice::FailsApart(index) => Step::FailsApart(index),
            Choice::Return(index) => Step::Return(self.borrowed[index].0),
            Choice::ReturnDead(index) => Step::ReturnDead(self.borrowed[index].0),
            Choice::Destroyed(index) => Step::Destroyed(self.doomed[index].value),
            Choice::Expire => Step::Expire,
            Choice::TimePasses => Step::TimePasses,
            Choice::Clear => Step::Clear,
            Choice::AbandonClear(_) => Step::AbandonClear,
            Choice::EndClear(_) => Step::EndClear,
            Choice::Close => Step::Close,
            Choice::Invalidate => Step::Invalidate,
            Choice::Resize(limit) => Step::Resize(limit),
            Choice::TakeAll => Step::TakeAll,
            Choice::Restore => Step::Restore(last_taken()),
            Choice::Deny => Step::Deny(last_taken()),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let scheduler = &self.scheduler;
        let requests = self.requests().into_iter().map(|r| (r.number, self.held(r.ticket)));
        let counts = scheduler.counts();
        let sketch = Sketch {
            phase: counts.phase,
            refused: self.refused,
            total: counts.total,
            requests: requests.collect(),
            apart: self.apart.iter().map(|it| (it.by, it.slot.generation())).collect(),
            rests: scheduler.keeper.is_some(),
            workers: self.workers(),
            uses: self.uses(),
        };
        Snapshot::new(&self.rules, sketch)
    }

    fn uses(&self) -> Vec<(usize, u64)> {
        let idle = self.idle().into_iter().map(|idle| (idle.value, idle.record));
        let lent = self.lent().into_iter().map(|(unit, slot)| (unit, slot.record));
        let uses = |(unit, record): (Unit, _)| Some((unit.id, self.record(record)?.uses));
        idle.chain(lent).filter_map(uses).collect()
    }

    fn held(&self, ticket: Ticket) -> Held {
        if let Some((_, unit, _)) = self.asked.iter().find(|(r, ..)| r.ticket == ticket) {
            return Held::Asks(*unit);
        }
        if let Some((_, slot)) = self.creating.iter().find(|(r, _)| r.ticket == ticket) {
            return Held::Creates(slot.generation());
        }
        let waiter = self.waiter(ticket);
        match &waiter.state {
            WaiterState::Queued if waiter.promised => Held::Promise,
            WaiterState::Queued => Held::Nothing,
            WaiterState::Handed(place) => Held::Handed(self.scheduler.parked[*place].0),
            WaiterState::Granted(_) => Held::MayCreate,
            WaiterState::Refused(refusal) => Held::Refused(*refusal),
        }
    }

    /// Workers that are out: borrowed, being asked, or handed to a request.
    fn lent(&self) -> Vec<(Unit, &Slot)> {
        let asked = self.asked.iter().map(|(_, unit, slot)| (*unit, slot));
        let dead = self.asked.iter().flat_map(|(request, ..)| &request.dead);
        let asked = asked.chain(dead.map(|(unit, slot)| (*unit, slot)));
        let borrowed = self.borrowed.iter().map(|(unit, slot)| (*unit, slot));
        let parked = self.scheduler.parked.iter().map(|(unit, slot)| (*unit, slot));
        let taken = self.taken.iter().map(|taken| (taken.value, &taken.slot));
        asked.chain(borrowed).chain(parked).chain(taken).collect()
    }

    fn workers(&self) -> Vec<(Unit, Place)> {
        let idle = self.idle().into_iter().map(|idle| (idle.value, Place::Idle(idle.since)));
        let lent = self.lent().into_iter();
        let lent = lent.map(|(unit, slot)| (unit, Place::Lent(slot.generation())));

        let requests = self.requests();
        let number = |heir| Some(requests.iter().find(|r| r.ticket == heir)?.number);
        let doomed = self.doomed.iter();
        let doomed = doomed
            .map(|it| (it.value, Place::Doomed(it.heir.and_then(|heir| number(heir.ticket)))));
        idle.chain(lent).chain(doomed).collect()
    }
}

/// A scheduler and its model, to which the same things happen.
pub(super) struct Pair {
    pub(super) world: World,
    model: Model,
    steps: Vec<Step>,
}

impl Pair {
    pub(super) fn new(rules: Rules, bounds: &Bounds) -> Self {
        let model = Model::new(rules, bounds.extras.span);
        Self { world: World::within(rules, bounds), model, steps: Vec::new() }
    }

    /// Panics if the two do not agree afterwards.
    pub(super) fn apply(&mut self, choice: Choice) {
        let step = self.world.step(choice);
        self.steps.push(step);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| self.world.apply(choice)));
        assert!(outcome.is_ok(), "a panic in the last of{}", self.history());
        self.model.apply(step);
        assert_eq!(self.world.snapshot(), self.model.snapshot(), "after{}", self.history());
    }

    fn history(&self) -> String {
        self.steps.iter().map(|step| format!("\n    {step:?}")).collect()
    }
}
