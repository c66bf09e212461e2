//! Long random histories, in which the scheduler and a naive model must agree after every step.
//!
//! A history that fails is shrunk, and its seed kept in `proptest-regressions`, to be tried first
//! from then on. `PROPTEST_CASES` makes more histories, `PROPTEST_RNG_SEED` others.

use std::mem;
use std::panic::{self, AssertUnwindSafe};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::model::Model;
use super::world::{Choice, Unit, Wanted, World};
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{Rules, Sharing, Ticket};

/// Something that happens; it names requests by their number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Request(usize, Wanted),
    IsWell(usize),
    IsDead(usize, Unit),
    Collect(usize),
    Cancel(usize),
    Created(usize, Unit),
    CreationFails(usize),
    Return(Unit),
    ReturnDead(Unit),
    Destroyed(Unit),
    Expire,
    TimePasses,
    Clear,
    AbandonClear,
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
    /// Since so many clears had begun.
    Creates(u64),
    Cleared,
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
    /// Borrowed, being asked, or handed to a request, since so many clears had begun.
    Lent(u64),
    /// Being destroyed; the request that waits for it.
    Doomed(Option<usize>),
}

/// What the two have to agree on.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot {
    is_clearing: bool,
    total: usize,
    requests: Vec<(usize, Held)>,
    idle: Vec<(Unit, Place)>,
    others: Vec<(Unit, Place)>,
}

impl Snapshot {
    /// Of the order of the workers, that of the idle ones counts; of heirs, those that wait.
    pub(super) fn new(
        is_clearing: bool,
        total: usize,
        requests: Vec<(usize, Held)>,
        workers: Vec<(Unit, Place)>,
    ) -> Self {
        let waits = |heir: &usize| requests.contains(&(*heir, Held::Promise));
        let workers = workers.into_iter().map(|(unit, place)| match place {
            Place::Doomed(heir) => (unit, Place::Doomed(heir.filter(waits))),
            place => (unit, place),
        });
        let is_idle = |worker: &(Unit, Place)| matches!(worker.1, Place::Idle(_));
        let (idle, mut others): (Vec<_>, Vec<_>) = workers.partition(is_idle);
        others.sort_by_key(|(unit, _)| unit.id);
        Self { is_clearing, total, requests, idle, others }
    }
}

impl World {
    /// What a choice means, said before it is carried out.
    fn step(&self, choice: Choice) -> Step {
        let next_unit = |class| Unit { class, id: self.last_id + 1 };
        match choice {
            Choice::Request(wanted) => Step::Request(self.last_number + 1, wanted),
            Choice::IsWell(index) => Step::IsWell(self.asked[index].0.number),
            Choice::IsDead(index) => Step::IsDead(self.asked[index].0.number, self.asked[index].1),
            Choice::Collect(index) => Step::Collect(self.waiting[index].number),
            Choice::Cancel(index) => Step::Cancel(self.waiting[index].number),
            Choice::CreatedAs(index, class) => {
                Step::Created(self.creating[index].0.number, next_unit(class))
            }
            Choice::CreationFails(index) => Step::CreationFails(self.creating[index].0.number),
            Choice::Return(index) => Step::Return(self.borrowed[index].0),
            Choice::ReturnDead(index) => Step::ReturnDead(self.borrowed[index].0),
            Choice::Destroyed(index) => Step::Destroyed(self.doomed[index].value),
            Choice::Expire => Step::Expire,
            Choice::TimePasses => Step::TimePasses,
            Choice::Clear => Step::Clear,
            Choice::AbandonClear(_) => Step::AbandonClear,
        }
    }

    fn snapshot(&self) -> Snapshot {
        let scheduler = &self.scheduler;
        let requests = self.requests().into_iter().map(|r| (r.number, self.held(r.ticket)));
        Snapshot::new(scheduler.is_clearing(), scheduler.slots, requests.collect(), self.workers())
    }

    fn held(&self, ticket: Ticket) -> Held {
        if let Some((_, unit, _)) = self.asked.iter().find(|(r, ..)| r.ticket == ticket) {
            return Held::Asks(*unit);
        }
        if let Some((_, slot)) = self.creating.iter().find(|(r, _)| r.ticket == ticket) {
            return Held::Creates(slot.generation);
        }
        let waiter = &self.scheduler.waiters[&ticket];
        match &waiter.state {
            WaiterState::Queued if waiter.promised => Held::Promise,
            WaiterState::Queued => Held::Nothing,
            WaiterState::Handed(place) => Held::Handed(self.scheduler.parked[*place].0),
            WaiterState::Granted(_) => Held::MayCreate,
            WaiterState::Cleared => Held::Cleared,
        }
    }

    fn workers(&self) -> Vec<(Unit, Place)> {
        let buckets = &self.scheduler.buckets;
        let ids = buckets.ids().into_iter();
        let mut idle: Vec<_> = ids.flat_map(|id| &buckets[id].idle).collect();
        idle.sort_by_key(|idle| idle.order);
        let idle = idle.into_iter().map(|idle| (idle.value, Place::Idle(idle.since)));

        let asked = self.asked.iter().map(|(_, unit, slot)| (*unit, slot));
        let dead = self.asked.iter().flat_map(|(request, ..)| &request.dead);
        let asked = asked.chain(dead.map(|(unit, slot)| (*unit, slot)));
        let borrowed = self.borrowed.iter().map(|(unit, slot)| (*unit, slot));
        let parked = self.scheduler.parked.iter().map(|(_, (unit, slot))| (*unit, slot));
        let lent = asked.chain(borrowed).chain(parked);
        let lent = lent.map(|(unit, slot)| (unit, Place::Lent(slot.generation)));

        let requests = self.requests();
        let number = |heir| Some(requests.iter().find(|r| r.ticket == heir)?.number);
        let doomed = self.doomed.iter();
        let doomed = doomed.map(|it| (it.value, Place::Doomed(it.heir.and_then(number))));
        idle.chain(lent).chain(doomed).collect()
    }

    /// One of the choices of this kind, if there is any now.
    fn choose(&self, (kind, pick): (Choice, usize), crowd: usize) -> Option<Choice> {
        let mut choices = self.choices(crowd, 2);
        choices.retain(|choice| mem::discriminant(choice) == mem::discriminant(&kind));
        choices.get(pick % choices.len().max(1)).copied()
    }
}

/// A history names kinds of events, so that it keeps its sense when some of them are left out.
#[derive(Debug)]
struct History {
    rules: Rules,
    classes: u32,
    /// How many requests may be under way at a time.
    crowd: usize,
    events: Vec<(Choice, usize)>,
}

fn kinds() -> impl Strategy<Value = Choice> {
    use Choice::*;
    let often = [Request(None), Collect(0), CreatedAs(0, 0), Return(0)];
    let at_times = [IsWell(0), Destroyed(0), IsDead(0), Cancel(0), AbandonClear(0)];
    let seldom = [CreationFails(0), ReturnDead(0), TimePasses, Expire, Clear];
    prop::sample::select([often.repeat(9), at_times.repeat(3), seldom.to_vec()].concat())
}

fn limit(least: usize) -> impl Strategy<Value = usize> {
    prop_oneof![3 => least..=3, 1 => Just(usize::MAX)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let sharing = prop_oneof![
        1 => Just(Sharing::Sole),
        1 => Just(Sharing::Apart),
        3 => (1..=3_usize).prop_map(Sharing::Target),
    ];
    let idle_timeout = prop::option::of(0..=3_u64);
    (sharing, limit(1), limit(0), limit(1), idle_timeout, 0..=2_u32).prop_map(
        |(sharing, bucket_limit, bucket_idle_limit, creation_limit, idle_timeout, max_passes)| {
            Rules {
                bucket_limit,
                bucket_idle_limit,
                creation_limit,
                idle_timeout,
                max_passes,
                sharing,
            }
        },
    )
}

fn history() -> impl Strategy<Value = History> {
    let events = prop::collection::vec((kinds(), 0..12_usize), 0..=250);
    (rules(), 1..=3_u32, 1..=6_usize, events).prop_map(|(rules, classes, crowd, events)| {
        let classes = if rules.sharing == Sharing::Sole { 1 } else { classes };
        History { rules, classes, crowd, events }
    })
}

fn listed(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("\n    {step:?}")).collect()
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0),
        chosen => chosen,
    };
    ProptestConfig {
        cases: default.cases.max(5000),
        max_shrink_iters: 100_000,
        rng_seed,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn scheduler_and_model_agree(history in history()) {
        let mut world = World::new(history.rules, history.classes);
        let mut model = Model::new(history.rules);
        let mut steps = Vec::new();
        for event in history.events {
            let Some(choice) = world.choose(event, history.crowd) else { continue };
            let step = world.step(choice);
            steps.push(step);
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| world.apply(choice)));
            prop_assert!(outcome.is_ok(), "a panic in the last of{}", listed(&steps));
            model.apply(step);
            prop_assert_eq!(world.snapshot(), model.snapshot(), "after{}", listed(&steps));
        }
    }
}
