use std::cmp::Reverse;

use super::apart::Creation;
use super::choices::{Bounds, Choice};
use super::expected::Expected;
use crate::scheduler::bucket::Idle;
use crate::scheduler::waiter::Waiter;
use crate::scheduler::{
    ClearId, Doomed, Index, Record, Refusal, Rules, Scheduler, Sharing, Slot, Stage, Stamp,
    Standing, Taken, Ticket, WaiterId,
};

/// A worker: its class, and a number that no other has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) class: u32,
    pub(super) id: usize,
}

/// Whom a bell would wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bell {
    Request(usize),
    Clear(ClearId),
    Keeper,
}

/// What a request in the world asked for; `None`: any.
pub(super) type Wanted = Option<u32>;

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Request {
    pub(super) number: usize,
    pub(super) wanted: Wanted,
    pub(super) ticket: Ticket,
    /// Its name while it waits.
    pub(super) waiter: Option<WaiterId>,
    /// When it will have waited long enough.
    pub(super) deadline: Option<u64>,
    /// It takes an idle worker now or nothing.
    pub(super) tries: bool,
    /// The class that was full when a worker was created for this request in vain.
    pub(super) full: Option<u32>,
    pub(super) is_rung: bool,
    /// How far the scheduler knows of it.
    pub(super) standing: Standing,
    /// Workers that it found dead and has not destroyed yet.
    pub(super) dead: Vec<(Unit, Slot)>,
}

/// All that is outside the scheduler: what a shell, its callers and its workers would be doing.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct World {
    pub(super) scheduler: Scheduler<u32, Unit, Bell>,
    pub(super) rules: Rules,
    pub(super) classes: u32,
    /// Lent from idle, and being asked.
    pub(super) asked: Vec<(Request, Unit, Slot)>,
    pub(super) waiting: Vec<Request>,
    pub(super) creating: Vec<(Request, Slot)>,
    pub(super) apart: Vec<Creation>,
    /// While the keeper rests: when it will wake up by itself, and whether it would create.
    pub(super) keeper: Option<(u64, bool)>,
    pub(super) borrowed: Vec<(Unit, Slot)>,
    pub(super) doomed: Vec<Doomed<Unit>>,
    /// Taken out from idle, to be asked whether they are to stay.
    pub(super) taken: Vec<Taken<Unit>>,
    /// Clears that wait for the last slot.
    pub(super) clears: Vec<ClearId>,
    /// Clears that have been told, and are not ended yet.
    pub(super) told: Vec<ClearId>,
    pub(super) is_closed: bool,
    /// How long a worker may live, if there is a limit.
    pub(super) span: Option<u64>,
    /// The highest that the limit, which may change, has been.
    pub(super) most: usize,
    /// What the last event's caller was refused with.
    pub(super) refused: Option<Refusal>,
    /// How many dead workers the last event destroyed, beside the unit that it is about.
    pub(super) freed: usize,
    /// Who else was served by the last event.
    pub(super) served: Vec<Ticket>,
    /// What has been counted.
    pub(super) expected: Expected,
    pub(super) now: u64,
    pub(super) last_number: usize,
    pub(super) last_id: usize,
}

/// Workers of class 2 serve class 0 as well.
pub(super) fn serves(unit: &Unit, class: &u32) -> bool {
    unit.class == *class || (unit.class == 2 && *class == 0)
}

impl World {
    pub(super) fn new(rules: Rules, classes: u32) -> Self {
        let sole = (rules.sharing == Sharing::Sole).then_some(0);
        let mut world = Self {
            scheduler: Scheduler::new(rules, sole),
            rules,
            classes,
            asked: Vec::new(),
            waiting: Vec::new(),
            creating: Vec::new(),
            apart: Vec::new(),
            keeper: None,
            borrowed: Vec::new(),
            doomed: Vec::new(),
            taken: Vec::new(),
            clears: Vec::new(),
            told: Vec::new(),
            is_closed: false,
            span: None,
            most: 0,
            refused: None,
            freed: 0,
            served: Vec::new(),
            expected: Expected::default(),
            now: 0,
            last_number: 0,
            last_id: 0,
        };
        world.most = world.limit();
        world
    }

    pub(super) fn within(rules: Rules, bounds: &Bounds) -> Self {
        Self { span: bounds.extras.span, ..Self::new(rules, bounds.classes) }
    }

    /// Of each bucket or, where they share one, the target.
    pub(super) fn limit(&self) -> usize {
        match self.rules.sharing {
            Sharing::Target(target) => target,
            Sharing::Sole | Sharing::Apart => self.rules.bucket_limit,
        }
    }

    /// Whether something is kept of each worker.
    pub(super) fn keeps_records(&self) -> bool {
        self.span.is_some() || self.rules.max_uses < u64::MAX
    }

    pub(super) fn record(&self, record: Option<Index>) -> Option<Record> {
        let stamp = Stamp::new(self.scheduler.generation, Stage::Live);
        self.scheduler.record(&Slot { bucket: None, record, stamp })
    }

    pub(super) fn shares(&self) -> bool {
        matches!(self.rules.sharing, Sharing::Target(_))
    }

    pub(super) fn waiter(&self, ticket: Ticket) -> &Waiter<Bell> {
        let mut waiters = self.scheduler.waiters.iter();
        waiters.find(|waiter| waiter.ticket == ticket).expect("a request that waits")
    }

    /// All idle workers: the oldest first, or bucket by bucket where no order goes across them.
    pub(super) fn idle(&self) -> Vec<&Idle<Unit>> {
        let buckets = &self.scheduler.buckets;
        let mut ids = buckets.ids();
        ids.sort_by_key(|&id| buckets[id].key);
        let mut idle: Vec<_> = ids.into_iter().flat_map(|id| &buckets[id].idle).collect();
        if let Some(recency) = &self.scheduler.recency {
            let newest: Vec<_> = recency.newest_first().map(|(place, _)| Some(place)).collect();
            idle.sort_by_key(|idle| Reverse(newest.iter().position(|place| *place == idle.place)));
        }
        idle
    }

    /// All requests under way, the oldest first.
    pub(super) fn requests(&self) -> Vec<&Request> {
        let asked = self.asked.iter().map(|(request, _, _)| request);
        let creating = self.creating.iter().map(|(request, _)| request);
        let mut requests: Vec<_> = asked.chain(creating).chain(&self.waiting).collect();
        requests.sort_unstable_by_key(|request| request.ticket);
        requests
    }

    /// Lets everything end well, and checks that nobody was forgotten and nothing is left.
    pub(super) fn wind_up(&mut self) {
        for _ in 0..1000 {
            let choice = if !self.doomed.is_empty() {
                Choice::Destroyed(0)
            } else if !self.taken.is_empty() {
                Choice::Restore
            } else if let Some(index) = self.waiting.iter().position(|request| request.is_rung) {
                Choice::Collect(index)
            } else if !self.asked.is_empty() {
                Choice::IsWell(0)
            } else if let Some((request, _)) = self.creating.first() {
                Choice::CreatedAs(0, request.wanted.unwrap_or(0))
            } else if let Some(creation) = self.apart.first() {
                Choice::CreatedApart(0, creation.wanted.unwrap_or(0))
            } else if !self.borrowed.is_empty() {
                Choice::Return(0)
            } else {
                break;
            };
            self.apply(choice);
            self.check();
        }
        assert!(self.waiting.is_empty(), "everybody is served when everything comes back");
        self.apply(Choice::Clear);
        while !self.doomed.is_empty() {
            self.apply(Choice::Destroyed(0));
        }
        assert!(self.clears.is_empty(), "a clear ends with the last slot");
        while !self.told.is_empty() {
            self.apply(Choice::EndClear(0));
        }
        assert_eq!(self.scheduler.shut, self.is_closed.then_some(Refusal::Closed));
        self.check();
        self.check_empty();
    }
}

pub(super) fn can_serve(unit: &Unit, class: u32) -> bool {
    serves(unit, &class)
}
