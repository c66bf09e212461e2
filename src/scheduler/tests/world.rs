use std::cmp::Reverse;

use crate::scheduler::bucket::Idle;
use crate::scheduler::waiter::Waiter;
use crate::scheduler::{
    Birth, ClearId, Doomed, Effect, Effects, Entered, Entry, Grant, Lent, Refusal, Rules,
    Scheduler, Sharing, Slot, Ticket, WaiterId, Wish,
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
    waiter: Option<WaiterId>,
    /// The class that was full when a worker was created for this request in vain.
    pub(super) full: Option<u32>,
    pub(super) is_rung: bool,
    /// Workers that it found dead and has not destroyed yet.
    pub(super) dead: Vec<(Unit, Slot)>,
}

impl Request {
    fn new(number: usize, wanted: Wanted, ticket: Ticket) -> Self {
        Self { number, wanted, ticket, waiter: None, full: None, is_rung: false, dead: Vec::new() }
    }
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
    pub(super) borrowed: Vec<(Unit, Slot)>,
    pub(super) doomed: Vec<Doomed<Unit>>,
    /// Clears that wait for the last slot.
    pub(super) clears: Vec<ClearId>,
    /// Clears that have been told, and are not ended yet.
    pub(super) told: Vec<ClearId>,
    /// How many dead workers the last event destroyed, beside the unit that it is about.
    pub(super) freed: usize,
    /// Who else was served by the last event.
    pub(super) served: Vec<Ticket>,
    pub(super) now: u64,
    pub(super) last_number: usize,
    pub(super) last_id: usize,
}

/// Something that may happen next; an index is into the list that it is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Request(Wanted),
    IsWell(usize),
    IsDead(usize),
    Collect(usize),
    Cancel(usize),
    CreatedAs(usize, u32),
    CreationFails(usize),
    Return(usize),
    ReturnDead(usize),
    Destroyed(usize),
    Expire,
    TimePasses,
    Clear,
    AbandonClear(usize),
    EndClear(usize),
}

/// Workers of class 2 serve class 0 as well.
fn serves(unit: &Unit, class: &u32) -> bool {
    unit.class == *class || (unit.class == 2 && *class == 0)
}

impl World {
    pub(super) fn new(rules: Rules, classes: u32) -> Self {
        let sole = (rules.sharing == Sharing::Sole).then_some(0);
        Self {
            scheduler: Scheduler::new(rules, sole),
            rules,
            classes,
            asked: Vec::new(),
            waiting: Vec::new(),
            creating: Vec::new(),
            borrowed: Vec::new(),
            doomed: Vec::new(),
            clears: Vec::new(),
            told: Vec::new(),
            freed: 0,
            served: Vec::new(),
            now: 0,
            last_number: 0,
            last_id: 0,
        }
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

    /// Everything that may happen next, with at most so many requests and clears at a time.
    pub(super) fn choices(&self, requests: usize, clears: usize) -> Vec<Choice> {
        let mut choices = Vec::new();
        if self.rules.idle_timeout.is_some() {
            choices.extend([Choice::TimePasses, Choice::Expire]);
        }
        if self.clears.len() + self.told.len() < clears {
            choices.push(Choice::Clear);
        }
        if self.asked.len() + self.waiting.len() + self.creating.len() < requests {
            choices.extend((0..self.classes).map(|class| Choice::Request(Some(class))));
            choices.extend(self.shares().then_some(Choice::Request(None)));
        }
        for index in 0..self.asked.len() {
            choices.extend([Choice::IsWell(index), Choice::IsDead(index)]);
        }
        for (index, request) in self.waiting.iter().enumerate() {
            choices.push(Choice::Cancel(index));
            choices.extend(request.is_rung.then_some(Choice::Collect(index)));
        }
        for (index, (request, _)) in self.creating.iter().enumerate() {
            choices.push(Choice::CreationFails(index));
            let classes = request.wanted.map_or(0..self.classes, |class| class..class + 1);
            choices.extend(classes.map(|class| Choice::CreatedAs(index, class)));
        }
        for index in 0..self.borrowed.len() {
            choices.extend([Choice::Return(index), Choice::ReturnDead(index)]);
        }
        choices.extend((0..self.doomed.len()).map(Choice::Destroyed));
        choices.extend((0..self.clears.len()).map(Choice::AbandonClear));
        choices.extend((0..self.told.len()).map(Choice::EndClear));
        choices
    }

    pub(super) fn apply(&mut self, choice: Choice) {
        self.served.clear();
        self.freed = 0;
        match choice {
            Choice::Request(wanted) => self.request(wanted),
            Choice::IsWell(index) => {
                let (request, unit, slot) = self.asked.remove(index);
                self.borrowed.push((unit, slot));
                self.destroy(request.dead);
            }
            Choice::IsDead(index) => {
                let (mut request, unit, slot) = self.asked.remove(index);
                request.dead.push((unit, slot));
                self.go_on(request);
            }
            Choice::Collect(index) => self.collect(index),
            Choice::Cancel(index) => self.cancel(index),
            Choice::CreatedAs(index, class) => self.created(index, class),
            Choice::CreationFails(index) => {
                let (_, slot) = self.creating.remove(index);
                self.event(|scheduler, effects| scheduler.free(slot, None, effects));
            }
            Choice::Return(index) => {
                let (unit, slot) = self.borrowed.remove(index);
                self.give_back(unit, slot);
            }
            Choice::ReturnDead(index) => {
                let (_, slot) = self.borrowed.remove(index);
                self.event(|scheduler, effects| scheduler.free(slot, None, effects));
            }
            Choice::Destroyed(index) => {
                let Doomed { slot, heir, .. } = self.doomed.remove(index);
                self.event(|scheduler, effects| scheduler.free(slot, heir, effects));
            }
            Choice::Expire => {
                let now = self.now;
                self.event(|scheduler, effects| scheduler.expire(now, effects));
            }
            Choice::TimePasses => self.now += 1,
            Choice::Clear => {
                self.last_number += 1;
                let id = ClearId(self.last_number as u64);
                self.clears.push(id);
                let bell = Bell::Clear(id);
                self.event(|scheduler, effects| scheduler.begin_clear(id, bell, effects));
            }
            Choice::AbandonClear(index) => {
                let id = self.clears.remove(index);
                let mut effects = Effects::default();
                assert_eq!(self.scheduler.end_clear(id, &mut effects), Some(Bell::Clear(id)));
                self.carry_out(effects);
            }
            Choice::EndClear(index) => {
                let id = self.told.remove(index);
                let mut effects = Effects::default();
                assert_eq!(self.scheduler.end_clear(id, &mut effects), None);
                self.carry_out(effects);
            }
        }
    }

    /// Lets everything end well, and checks that nobody was forgotten and nothing is left.
    pub(super) fn wind_up(&mut self) {
        for _ in 0..1000 {
            let choice = if !self.doomed.is_empty() {
                Choice::Destroyed(0)
            } else if let Some(index) = self.waiting.iter().position(|request| request.is_rung) {
                Choice::Collect(index)
            } else if !self.asked.is_empty() {
                Choice::IsWell(0)
            } else if let Some((request, _)) = self.creating.first() {
                Choice::CreatedAs(0, request.wanted.unwrap_or(0))
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
        assert_eq!(self.scheduler.shut, None);
        self.check();
        self.check_empty();
    }

    fn wish<'a>(&self, wanted: &'a Wanted, full: &'a Option<u32>) -> Wish<'a, u32> {
        // All keys have the same hash, so that they have to be told apart.
        match (wanted, full) {
            (Some(_), _) if self.rules.sharing == Sharing::Sole => Wish::Sole,
            (Some(key), _) => Wish::Of { hash: 7, key },
            (None, Some(key)) => Wish::AnyOnceRoom { hash: 7, key },
            (None, None) => Wish::Any,
        }
    }

    fn request(&mut self, wanted: Wanted) {
        let mut effects = Effects::default();
        let wish = self.wish(&wanted, &None);
        let lent = self.scheduler.lend(wish, self.now, &mut effects);
        self.last_number += 1;
        let number = self.last_number;
        match lent {
            Err(Refusal::Clearing) => assert_eq!(self.scheduler.shut, Some(Refusal::Clearing)),
            Err(refusal) => panic!("a new request is told {refusal:?}"),
            Ok(Some(Lent { value, slot, ticket, .. })) => {
                self.asked.push((Request::new(number, wanted, ticket), value, slot));
            }
            Ok(None) => self.enter_as(number, wanted, None, None, Vec::new()),
        }
        self.carry_out(effects);
    }

    /// Looks on after a worker in vain. Only if nothing is idle are the dead ones destroyed.
    fn go_on(&mut self, mut request: Request) {
        let wish = self.wish(&request.wanted, &request.full);
        let (_, held) = request.dead.last().expect("a worker in vain");
        let place = (request.ticket, held);
        let mut effects = Effects::default();
        let lent = self.scheduler.lend_again(wish, place, self.now, serves, &mut effects);
        match lent {
            Some(Lent { value, slot, .. }) => self.asked.push((request, value, slot)),
            None => {
                let held: Vec<_> = request.dead.drain(..).map(|(_, slot)| slot).collect();
                self.freed += held.len();
                self.enter(request, held);
            }
        }
        self.carry_out(effects);
    }

    fn destroy(&mut self, workers: Vec<(Unit, Slot)>) {
        self.freed += workers.len();
        for (_, slot) in workers {
            self.event(|scheduler, effects| scheduler.free(slot, None, effects));
        }
    }

    fn enter(&mut self, request: Request, held: Vec<Slot>) {
        let Request { number, wanted, ticket, full, .. } = request;
        self.enter_as(number, wanted, Some(ticket), full, held);
    }

    fn enter_as(
        &mut self,
        number: usize,
        wanted: Wanted,
        ticket: Option<Ticket>,
        full: Option<u32>,
        mut held: Vec<Slot>,
    ) {
        let mut effects = Effects::default();
        let entry = Entry {
            wish: self.wish(&wanted, &full),
            ticket,
            deadline: None,
            held: &mut held,
            bell: &mut Some(Bell::Request(number)),
            spare_key: &mut wanted.or(full),
        };
        let entered = self.scheduler.enter(entry, self.now, serves, &mut effects);
        let request = |ticket| Request { full, ..Request::new(number, wanted, ticket) };
        let mut own = None;
        match entered {
            Ok(Entered::Lent(Lent { value, slot, ticket, .. })) => {
                self.asked.push((request(ticket), value, slot));
            }
            Ok(Entered::Waits(waiter)) => {
                own = Some(waiter.ticket);
                self.waiting.push(Request { waiter: Some(waiter), ..request(waiter.ticket) });
            }
            Err(_) => {
                for slot in held {
                    self.scheduler.free(slot, None, &mut effects);
                }
            }
        }
        self.carry_out(effects);
        // What a request gets by its own event was not freed for it.
        self.served.retain(|served| Some(*served) != own);
    }

    fn collect(&mut self, index: usize) {
        let request = self.waiting.remove(index);
        let waiter = request.waiter.expect("a request that waits");
        match self.scheduler.collect(waiter).expect("a bell rings when there is something") {
            Grant::Worker(unit, slot) => {
                let fits = request.wanted.is_none_or(|class| serves(&unit, &class));
                assert!(fits, "{request:?} was handed {unit:?}");
                self.borrowed.push((unit, slot));
            }
            Grant::Outdated(..) => panic!("nothing is given up but by a clear"),
            Grant::Create(slot) => self.creating.push((request, slot)),
            Grant::Refused(refusal) => assert_eq!(refusal, Refusal::Cleared),
        }
    }

    fn cancel(&mut self, index: usize) {
        let request = self.waiting.remove(index);
        let mut effects = Effects::default();
        let waiter = request.waiter.expect("a request that waits");
        let (worker, _) = self.scheduler.cancel(waiter, &mut effects);
        if let Some((unit, slot)) = worker {
            let plan = self.scheduler.plan_return(&slot, &unit, self.now, serves);
            self.scheduler.commit_return(plan, slot, unit, self.now, &mut effects);
        }
        self.carry_out(effects);
    }

    fn created(&mut self, index: usize, class: u32) {
        let (mut request, mut slot) = self.creating.remove(index);
        self.last_id += 1;
        let unit = Unit { class, id: self.last_id };
        let bucket = request.wanted.is_none().then_some((7, &class));
        let mut effects = Effects::default();
        let birth = self.scheduler.created(
            &mut slot,
            bucket,
            &mut Some(class),
            (None, self.now),
            &mut effects,
        );
        match birth {
            Birth::Welcome => self.borrowed.push((unit, slot)),
            Birth::Full => {
                request.full = Some(class);
                self.enter(request, vec![slot]);
            }
            Birth::Outdated | Birth::Refused(_) => self.scheduler.free(slot, None, &mut effects),
        }
        self.carry_out(effects);
    }

    fn give_back(&mut self, unit: Unit, slot: Slot) {
        let now = self.now;
        self.event(|scheduler, effects| {
            let plan = scheduler.plan_return(&slot, &unit, now, serves);
            scheduler.commit_return(plan, slot, unit, now, effects);
        });
    }

    fn event<R>(
        &mut self,
        event: impl FnOnce(&mut Scheduler<u32, Unit, Bell>, &mut Effects<u32, Unit, Bell>) -> R,
    ) {
        let mut effects = Effects::default();
        event(&mut self.scheduler, &mut effects);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, mut effects: Effects<u32, Unit, Bell>) {
        effects.drain(|effect| match effect {
            Effect::Ring(Bell::Request(number)) => {
                let mut waiting = self.waiting.iter_mut();
                let request = waiting.find(|request| request.number == number);
                let request = request.expect("a bell rings for somebody who waits");
                assert!(!request.is_rung, "a bell rings once");
                request.is_rung = true;
                self.served.push(request.ticket);
            }
            Effect::Ring(Bell::Clear(id)) => {
                self.clears.retain(|clear| *clear != id);
                self.told.push(id);
            }
            Effect::Destroy(doomed) => self.doomed.push(doomed),
            Effect::DropKey(_) => {}
        });
    }
}

pub(super) fn can_serve(unit: &Unit, class: u32) -> bool {
    serves(unit, &class)
}
