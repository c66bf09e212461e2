//! The rules once more, to be compared with the scheduler: plain vectors, linear scans, no index.

mod apart;
mod keeper;
mod lists;
mod requests;
mod settle;
mod workers;

use std::mem;

use self::apart::Creation;
use super::comparison::{Held, Place, Sketch, Snapshot, Step};
use super::world::{Unit, Wanted};
use crate::scheduler::{Phase, Refusal, Rules};

struct Request {
    number: usize,
    wanted: Wanted,
    /// The class in which it would create, as far as is known.
    expected: Wanted,
    held: Held,
    passed: u32,
    /// Workers in vain, not destroyed yet.
    dead: Vec<Unit>,
    /// When it will have waited long enough.
    deadline: Option<u64>,
    /// It takes an idle worker now or nothing.
    tries: bool,
    /// It has been lent a worker, or stood in line.
    has_place: bool,
}

struct Worker {
    unit: Unit,
    place: Place,
    uses: u64,
    /// When it is too old.
    end: Option<u64>,
    /// Since when it is idle, or was, and the how-manieth return that was.
    since: u64,
    order: usize,
}

/// Where a worker comes from.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// Nobody has had it.
    Creation,
    Use,
    /// It was idle since then.
    Idle(u64),
}

pub(super) struct Model {
    rules: Rules,
    /// How long a worker may live.
    span: Option<u64>,
    /// In the order of their first poll.
    requests: Vec<Request>,
    apart: Vec<Creation>,
    /// While the keeper rests: when it will wake up by itself, and whether it would create.
    keeper: Option<(u64, bool)>,
    /// In the order in which they came to their places.
    workers: Vec<Worker>,
    /// Clears that wait for the last slot.
    clears: usize,
    /// Clears that have been told, and keep the pool closed still.
    told: usize,
    is_closed: bool,
    /// How often all workers of before were given up.
    era: u64,
    /// The era that the last clear began.
    cleared: u64,
    /// How many of those that are out have to go as they come back, where buckets share a target.
    retiring: usize,
    returns: usize,
    refused: Option<Refusal>,
    now: u64,
}

impl Model {
    pub(super) fn new(rules: Rules, span: Option<u64>) -> Self {
        Self {
            rules,
            span,
            requests: Vec::new(),
            apart: Vec::new(),
            keeper: None,
            workers: Vec::new(),
            clears: 0,
            told: 0,
            is_closed: false,
            era: 0,
            cleared: 0,
            retiring: 0,
            returns: 0,
            refused: None,
            now: 0,
        }
    }

    pub(super) fn apply(&mut self, step: Step) {
        self.refused = None;
        if Self::may_give_out(step) {
            self.time_out();
        }
        match step {
            Step::Request(number, wanted) => self.begin(number, wanted, None),
            Step::HurriedRequest(number, wanted) => {
                self.begin(number, wanted, Some(self.now + 1));
            }
            Step::TryRequest(number, wanted) => {
                self.add(number, wanted, None).tries = true;
                self.attempt(number);
            }
            Step::IsWell(number) => {
                self.destroy_dead(number);
                self.end(number);
            }
            Step::CreationFails(number) => _ = self.end(number),
            Step::IsDead(number, unit) => {
                self.request(number).dead.push(unit);
                self.go_on(number);
            }
            Step::Collect(number) => self.collect(number),
            Step::Cancel(number) => self.cancel(number),
            Step::Created(number, unit) => self.created(number, unit),
            Step::Rest(creates) => self.keeper_rests(creates),
            Step::OpenReserve => self.open_reserve(),
            Step::OpenSpare(wanted) => self.open_spare(wanted),
            Step::CreatedApart(index, unit) => self.created_apart(index, unit),
            Step::FailsApart(index) => self.fails_apart(index),
            Step::Return(unit) => self.give_back(unit, From::Use),
            Step::ReturnDead(unit) | Step::Deny(unit) => _ = self.take(unit),
            Step::Destroyed(unit) => self.destroyed(unit),
            Step::Expire => {
                self.expire(None);
                self.expire_old();
            }
            Step::TimePasses => self.now += 1,
            Step::Clear => self.clear(),
            Step::AbandonClear => self.clears -= 1,
            Step::EndClear => self.told -= 1,
            Step::Close => {
                self.is_closed = true;
                self.clear();
            }
            Step::Invalidate => self.give_all_up(),
            Step::Resize(limit) => self.resize(limit),
            Step::TakeAll => {
                for unit in self.idle(None) {
                    self.put(unit, Place::Lent(self.era));
                }
            }
            Step::Restore(unit) => {
                let since = self.worker(unit).since;
                self.give_back(unit, From::Idle(since));
            }
        }
        self.requests.retain(|request| request.held != Held::Over);
        self.settle_all();
        if self.slots(None) == 0 {
            self.told += mem::take(&mut self.clears);
        }
    }

    /// Who looks, or answers, gives nothing to others, unless it goes on to the line.
    fn may_give_out(step: Step) -> bool {
        let looks = matches!(
            step,
            Step::Request(..) | Step::HurriedRequest(..) | Step::TryRequest(..) | Step::TakeAll
        );
        let answers = matches!(step, Step::IsWell(_) | Step::IsDead(..) | Step::Collect(_));
        let ends = matches!(
            step,
            Step::Clear | Step::AbandonClear | Step::EndClear | Step::Close | Step::TimePasses
        );
        let keeps = matches!(step, Step::Rest(_) | Step::OpenReserve);
        !(looks || answers || ends || keeps)
    }

    fn phase(&self) -> Phase {
        match (self.is_closed, self.clears + self.told) {
            (true, _) => Phase::Closed,
            (false, 0) => Phase::Open,
            (false, _) => Phase::Clearing,
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let held = |r: &Request| if self.has_promise(r) { Held::Promise } else { r.held };
        let keeps_records = self.span.is_some() || self.rules.max_uses < u64::MAX;
        let is_kept = |w: &&Worker| keeps_records && !matches!(w.place, Place::Doomed(_));
        let used = self.workers.iter().filter(is_kept);
        let sketch = Sketch {
            phase: self.phase(),
            refused: self.refused,
            total: self.slots(None),
            requests: self.requests.iter().map(|r| (r.number, held(r))).collect(),
            apart: self.apart.iter().map(|it| (it.by, it.era)).collect(),
            rests: self.keeper.is_some(),
            workers: self.workers.iter().map(|w| (w.unit, w.place)).collect(),
            uses: used.map(|w| (w.unit.id, w.uses)).collect(),
        };
        Snapshot::new(&self.rules, sketch)
    }
}
