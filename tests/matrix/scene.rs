//! A point at which a call may wait, and what is checked whatever way it goes on from there.

use std::rc::Rc;
use std::sync::Arc;

use self::Outcome::{Drop, DropInPanic, Fail, Finish, Panic};
use super::guest::Fate::{self, Left, Panicked, Refused, Waits};
use super::guest::Row;
use super::kits::Kit;
use super::stage::Stage;
use crate::common::mines::*;
use crate::common::{let_tasks_run, paused_runtime};

/// How a call goes on from the point at which it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All goes well.
    Finish,
    /// What it waits for ends badly.
    Fail,
    /// The user's code that it waits for panics.
    Panic,
    Drop,
    /// Dropped while its thread unwinds.
    DropInPanic,
}

pub const OUTCOMES: [Outcome; 5] = [Finish, Fail, Panic, Drop, DropInPanic];

pub type Act<G> = fn(&Stage<G>) -> &Stage<G>;
pub type Ways<'a, G> = &'a [(Outcome, Fate, Act<G>)];

/// A point at which a call may wait.
pub struct Scene<G: Row> {
    pub name: &'static str,
    pub kit: Kit,
    /// Brings a call there.
    set: Act<G>,
    pub ways: Vec<(Outcome, Fate, Act<G>)>,
    /// What can't be.
    pub never: Vec<(Outcome, &'static str)>,
    /// How it ends when its time is up, if it is a request.
    late: Vec<(Outcome, Fate, Act<G>)>,
    /// Whether the call has a deadline.
    pub is_timed: bool,
    /// The point is inside the destructor of the worker that the second holder returns.
    is_inside: bool,
}

impl<G: Row> Scene<G> {
    pub fn new(name: &'static str, kit: Kit, set: Act<G>, ways: Ways<'_, G>) -> Self {
        let mut ways = ways.to_vec();
        ways.push((Drop, Left, |s| s.then(|s| s.call().leave())));
        ways.push((DropInPanic, Left, |s| s.then(|s| s.call().leave_in_panic())));
        Self {
            name,
            kit,
            set,
            ways,
            never: Vec::new(),
            late: Vec::new(),
            is_timed: false,
            is_inside: false,
        }
    }

    /// What becomes of the call when its time is up.
    pub fn late(self, fate: Fate) -> Self {
        self.late_after(fate, |s| s.be_late())
    }

    pub fn late_after(mut self, fate: Fate, act: Act<G>) -> Self {
        self.late.push((Fail, fate, act));
        self
    }

    /// The same with a deadline, if the call may have one.
    pub fn timed(&self) -> Option<Self> {
        let late = self.late.clone();
        (!late.is_empty()).then(|| Self {
            name: self.name,
            kit: self.kit,
            set: self.set,
            ways: [&*self.ways, &*late].concat(),
            never: self.never.iter().filter(|never| never.0 != Fail).copied().collect(),
            late: Vec::new(),
            is_timed: true,
            is_inside: self.is_inside,
        })
    }

    /// Where the user's code is called, if at all.
    pub fn places(&self) -> impl Iterator<Item = Place> + Clone + use<G> {
        PLACES.into_iter().chain(self.kit.place)
    }

    pub fn inside(self) -> Self {
        Self { is_inside: true, ..self }
    }

    pub fn never(mut self, outcome: Outcome, why: &'static str) -> Self {
        self.never.push((outcome, why));
        self
    }

    /// It can't be set at all.
    pub fn unless(self, why: Option<&'static str>) -> Self {
        let Some(why) = why else { return self };
        Self {
            ways: Vec::new(),
            late: Vec::new(),
            never: OUTCOMES.map(|outcome| (outcome, why)).into(),
            ..self
        }
    }

    /// Runs one cell, and says whether the mine went off.
    pub fn run(&self, (_, fate, act): (Outcome, Fate, Act<G>), mine: Mine) -> bool {
        let runtime = Rc::new(paused_runtime());
        let _within = runtime.enter();
        let stage = Stage::open(self.kit, self.is_timed, Rc::clone(&runtime));
        (self.set)(&stage);
        let call = stage.call();
        assert_eq!(call.fate.get(), Waits, "the scene is not set");

        lay([mine]);
        if self.is_inside {
            let within = Rc::clone(&stage);
            ambush(Place::WorkerDrop, move || _ = act(&within));
            stage.second_returns();
        } else {
            act(&stage);
        }
        call.poll();
        let is_fine = !laid().is_empty();
        assert!(!is_fine || call.fate.get() == fate, "its fate: {:?}", call.fate.get());

        stage.tally.open();
        let is_shut = stage.is_closed.get() || stage.is_clearing();
        let newcomer = stage.add_get(G::CALL);
        newcomer.poll();
        if newcomer.fate.get() != Panicked {
            assert_eq!(newcomer.fate.get() == Refused, is_shut, "whether the pool is open");
        }
        stage.play_out();
        let went_off = disarm().is_empty();

        let last = stage.check();
        let tally = Arc::clone(&stage.tally);
        drop((stage, call, newcomer));
        runtime.block_on(let_tasks_run());
        tally.audit(usize::from(last.is_some()));
        last.inspect(|last| last.leave());
        tally.audit(0);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0, "a task is left");
        went_off
    }
}
