//! What happens in a world: each choice, carried out as the shell would.

use super::choices::Choice;
use super::world::{Bell, Request, Unit, Wanted, World, serves};
use crate::scheduler::{
    Arrival, Birth, ClearId, Doomed, Effect, Effects, End, Entered, Entry, Grant, How, Lent,
    Refusal, Scheduler, Sharing, Slot, Standing, Ticket, Wish,
};

pub(super) type Books = Scheduler<u32, Unit, Bell>;
pub(super) type BookEffects = Effects<u32, Unit, Bell>;

/// A request that takes only what is idle takes only what has been idle for less than this.
pub(super) const FRESH: u64 = 1;

impl World {
    pub(super) fn apply(&mut self, choice: Choice) {
        self.served.clear();
        self.freed = 0;
        self.refused = None;
        let now = self.now;
        match choice {
            Choice::Request(wanted) => self.request(wanted, None),
            Choice::HurriedRequest(wanted) => self.request(wanted, Some(now + 1)),
            Choice::TryRequest(wanted) => {
                let request = Request { tries: true, ..self.newcomer(wanted) };
                self.go_on(request);
            }
            Choice::IsWell(index) => {
                let (request, unit, slot) = self.asked.remove(index);
                self.expected.at_once += 1;
                self.borrowed.push((unit, slot));
                self.destroy(request.dead);
            }
            Choice::IsDead(index) => {
                let (mut request, unit, slot) = self.asked.remove(index);
                request.standing = Standing::Served(How::AtOnce);
                request.dead.push((unit, slot));
                self.go_on(request);
            }
            Choice::Collect(index) => self.collect(index),
            Choice::Cancel(index) => {
                let request = self.cancel(index);
                self.end(request, End::Cancelled);
            }
            Choice::CreatedAs(index, class) => self.created(index, class),
            Choice::CreationFails(index) => {
                let (request, mut slot) = self.creating.remove(index);
                slot.has_failed();
                self.expected.creations_failed += 1;
                self.free_slot(slot);
                self.end(request, End::Failed);
            }
            Choice::CreatedApart(index, class) => self.created_apart(index, class),
            Choice::Rest(creates) => self.keeper_rests(creates),
            Choice::OpenReserve => self.open_reserve(),
            Choice::OpenSpare(wanted) => self.open_spare(wanted),
            Choice::FailsApart(index) => self.fails_apart(index),
            Choice::Return(index) => {
                let (unit, slot) = self.borrowed.remove(index);
                self.event(|scheduler, effects| {
                    let plan = scheduler.plan_return(&slot, &unit, now, serves);
                    scheduler.commit_return(plan, slot, unit, now, effects);
                });
            }
            Choice::ReturnDead(index) => {
                let (_, slot) = self.borrowed.remove(index);
                self.expected.destroyed += 1;
                self.free_slot(slot);
            }
            Choice::Destroyed(index) => {
                let Doomed { slot, heir, .. } = self.doomed.remove(index);
                self.expected.destroyed += 1;
                self.event(|scheduler, effects| scheduler.free(slot, heir, effects));
            }
            Choice::Expire => {
                self.event(|scheduler, effects| scheduler.expire(now, effects));
            }
            Choice::TimePasses => self.now += 1,
            Choice::Clear => self.clear(),
            Choice::AbandonClear(index) => {
                let id = self.clears.remove(index);
                self.event(|scheduler, effects| {
                    assert_eq!(scheduler.end_clear(id, effects), Some(Bell::Clear(id)));
                });
            }
            Choice::EndClear(index) => {
                let id = self.told.remove(index);
                self.event(|scheduler, effects| {
                    assert_eq!(scheduler.end_clear(id, effects), None);
                });
            }
            Choice::Close => {
                self.is_closed = true;
                self.scheduler.close();
                self.clear();
            }
            Choice::Invalidate => self.event(|scheduler, effects| scheduler.invalidate(effects)),
            Choice::Resize(limit) => {
                match &mut self.rules.sharing {
                    Sharing::Target(target) => *target = limit,
                    Sharing::Sole | Sharing::Apart => self.rules.bucket_limit = limit,
                }
                self.most = self.most.max(limit);
                self.event(|scheduler, effects| scheduler.resize(limit, effects));
            }
            Choice::TakeAll => self.taken = self.scheduler.take_all(),
            Choice::Restore => {
                let taken = self.taken.pop().expect("a worker that was taken out");
                self.event(|scheduler, effects| {
                    let plan = scheduler.plan_return(&taken.slot, &taken.value, now, serves);
                    scheduler.restore(plan, taken, now, effects);
                    scheduler.have_been_asked(1, effects);
                });
            }
            // Until its destructor has returned, it might as well still be asked.
            Choice::Deny => {
                let taken = self.taken.pop().expect("a worker that was taken out");
                self.expected.destroyed += 1;
                self.event(|scheduler, effects| scheduler.have_been_asked(1, effects));
                self.free_slot(taken.slot);
            }
        }
    }

    pub(super) fn wish<'a>(&self, wanted: &'a Wanted, full: &'a Option<u32>) -> Wish<'a, u32> {
        // All keys have the same hash, so that they have to be told apart.
        match (wanted, full) {
            (Some(_), _) if self.rules.sharing == Sharing::Sole => Wish::Sole,
            (Some(key), _) => Wish::Of { hash: 7, key },
            (None, Some(key)) => Wish::AnyOnceRoom { hash: 7, key },
            (None, None) => Wish::Any,
        }
    }

    /// A request that has no place in the order yet.
    fn newcomer(&mut self, wanted: Wanted) -> Request {
        self.last_number += 1;
        self.expected.started += 1;
        Request {
            number: self.last_number,
            wanted,
            ticket: Ticket(0),
            waiter: None,
            deadline: None,
            tries: false,
            full: None,
            is_rung: false,
            standing: Standing::New,
            dead: Vec::new(),
        }
    }

    fn request(&mut self, wanted: Wanted, deadline: Option<u64>) {
        let request = Request { deadline, ..self.newcomer(wanted) };
        let mut effects = Effects::default();
        let lent = self.scheduler.lend(self.wish(&wanted, &None), self.now, &mut effects);
        self.carry_out(effects);
        match lent {
            Err(refusal) => {
                self.expected.end(End::Refused);
                self.refuse(refusal);
            }
            Ok(Some(lent)) => self.meet(request, lent),
            Ok(None) => self.enter(request, None, Vec::new()),
        }
    }

    /// Asks a worker, unless it is known that it has to go.
    fn meet(&mut self, mut request: Request, lent: Lent<Unit>) {
        let Lent { value, slot, ticket, rested, is_spent } = lent;
        let may_rest = if request.tries { FRESH } else { u64::MAX };
        assert!(rested < may_rest.min(self.rules.idle_timeout.unwrap_or(u64::MAX)), "{request:?}");
        let age = self.record(slot.record).map(|record| self.now - record.born);
        assert_eq!(is_spent, age.zip(self.span).is_some_and(|(age, span)| age >= span));
        if request.ticket == Ticket(0) {
            request.ticket = ticket;
        }
        if is_spent {
            request.standing = Standing::Served(How::AtOnce);
            request.dead.push((value, slot));
            self.go_on(request);
        } else {
            self.asked.push((request, value, slot));
        }
    }

    /// Looks at what is idle. Only if nothing is are the dead workers destroyed that were in vain.
    fn go_on(&mut self, mut request: Request) {
        let (now, mut effects) = (self.now, Effects::default());
        let wish = self.wish(&request.wanted, &request.full);
        let lent = if request.tries {
            let ticket = Some(request.ticket).filter(|ticket| *ticket != Ticket(0));
            let place = (ticket, &mut request.standing);
            let lent = self.scheduler.try_lend(wish, place, (now, FRESH), serves, &mut effects);
            if !matches!(lent, Ok(Some(_))) {
                self.expected.end(End::Refused);
            }
            lent.unwrap_or_else(|refusal| {
                self.refuse(refusal);
                None
            })
        } else {
            let (_, held) = request.dead.last().expect("a worker in vain");
            let (place, standing) = ((request.ticket, held), &mut request.standing);
            self.scheduler.lend_again(wish, place, standing, now, serves, &mut effects)
        };
        self.carry_out(effects);
        match lent {
            Some(lent) => self.meet(request, lent),
            None if request.tries => self.destroy(request.dead),
            None => {
                let held: Vec<_> = request.dead.drain(..).map(|(_, slot)| slot).collect();
                self.freed += held.len();
                self.expected.destroyed += held.len() as u64;
                let ticket = request.ticket;
                self.enter(request, Some(ticket), held);
            }
        }
    }

    fn destroy(&mut self, workers: Vec<(Unit, Slot)>) {
        self.freed += workers.len();
        self.expected.destroyed += workers.len() as u64;
        for (_, slot) in workers {
            self.free_slot(slot);
        }
    }

    pub(super) fn enter(
        &mut self,
        mut request: Request,
        ticket: Option<Ticket>,
        mut held: Vec<Slot>,
    ) {
        let Request { number, wanted, full, deadline, .. } = request;
        let (now, mut effects) = (self.now, Effects::default());
        let (mut bell, mut spare_key) = (Some(Bell::Request(number)), wanted.or(full));
        let wish = self.wish(&wanted, &full);
        let (held_slots, bell_place, spare) = (&mut held, &mut bell, &mut spare_key);
        let entry = Entry {
            wish,
            ticket,
            since: now,
            deadline,
            held: held_slots,
            buried: None,
            bell: bell_place,
            spare_key: spare,
            standing: &mut request.standing,
        };
        let entered =
            self.with(&mut effects, |books, effects| books.enter(entry, now, serves, effects));
        let mut own = None;
        let mut met = None;
        match entered {
            Ok(Entered::Lent(lent)) => met = Some((request, lent)),
            Ok(Entered::Waits(waiter)) => {
                own = Some(waiter.ticket);
                (request.ticket, request.waiter) = (waiter.ticket, Some(waiter));
                self.waiting.push(request);
            }
            Err(refusal) => {
                assert!(bell.is_some(), "who is refused keeps the bell");
                let is_full = matches!(refusal, Refusal::Full { .. });
                assert!(!is_full || ticket.is_none(), "who has a place is not turned away");
                assert_eq!(request.standing, Standing::Over);
                self.expected.end(ticket.map_or(End::Refused, |_| refusal.into()));
                self.refuse(refusal);
                for slot in held {
                    self.with(&mut effects, |books, effects| books.free(slot, None, effects));
                }
            }
        }
        self.carry_out(effects);
        // What a request gets by its own event was not freed for it.
        self.served.retain(|served| Some(*served) != own);
        if let Some((request, lent)) = met {
            self.meet(request, lent);
        }
    }

    fn collect(&mut self, index: usize) {
        let mut request = self.waiting.remove(index);
        let waiter = request.waiter.take().expect("a request that waits");
        request.is_rung = false;
        let times = (self.now, self.now);
        let grant = self.scheduler.collect(waiter, &mut request.standing, times);
        match grant.expect("a bell rings when there is something") {
            Grant::Worker(unit, slot) => {
                let fits = request.wanted.is_none_or(|class| serves(&unit, &class));
                assert!(fits, "{request:?} was handed {unit:?}");
                assert!(self.scheduler.is_current(&slot), "{unit:?} has been given up");
                self.expected.after_waiting += 1;
                self.borrowed.push((unit, slot));
            }
            Grant::Outdated(unit, slot) => {
                assert!(!self.scheduler.is_current(&slot), "{unit:?} has not been given up");
                request.dead.push((unit, slot));
                self.go_on(request);
            }
            Grant::Create(slot) if self.rules.creates_apart => self.begin_apart(request, slot),
            Grant::Create(slot) => self.creating.push((request, slot)),
            Grant::Refused(refusal) => {
                self.expected.end(refusal.into());
                self.refuse(refusal);
            }
        }
    }

    pub(super) fn cancel(&mut self, index: usize) -> Request {
        let waiter = self.waiting[index].waiter.expect("a request that waits");
        let now = self.now;
        self.event(|scheduler, effects| {
            let (worker, _) = scheduler.cancel(waiter, effects);
            if let Some((unit, slot)) = worker {
                let plan = scheduler.plan_return(&slot, &unit, now, serves);
                scheduler.commit_return(plan, slot, unit, now, effects);
            }
        });
        // Its own time may have come as it left.
        let request = self.waiting.remove(index);
        self.served.retain(|served| *served != waiter.ticket);
        request
    }

    fn created(&mut self, index: usize, class: u32) {
        let (mut request, mut slot) = self.creating.remove(index);
        let unit = self.new_unit(class);
        let bucket = request.wanted.is_none().then_some((7, &class));
        let arrival = Arrival { bucket, life: self.life(), took: 1, now: self.now };
        let mut effects = Effects::default();
        let standing = &mut request.standing;
        let birth = self.with(&mut effects, |books, effects| {
            books.created(&mut slot, arrival, &mut Some(class), standing, effects)
        });
        self.carry_out(effects);
        self.expected.created += 1;
        self.expected.destroyed += u64::from(birth != Birth::Welcome);
        match birth {
            Birth::Welcome => {
                self.expected.by_creation += 1;
                self.borrowed.push((unit, slot));
            }
            Birth::Full => {
                request.full = Some(class);
                let ticket = request.ticket;
                self.enter(request, Some(ticket), vec![slot]);
            }
            Birth::Outdated => {
                slot.begins();
                self.creating.push((request, slot));
            }
            Birth::Refused(refusal) => {
                self.expected.end(refusal.into());
                self.refuse(refusal);
                self.free_slot(slot);
            }
        }
    }

    /// A request ends without a worker, outside the scheduler's events.
    pub(super) fn end(&mut self, mut request: Request, end: End) {
        // A time that has come as it left is told by the same lock.
        self.scheduler.fail(&mut request.standing, end);
        self.expected.end(end);
    }

    pub(super) fn free_slot(&mut self, slot: Slot) {
        self.event(|scheduler, effects| scheduler.free(slot, None, effects));
    }

    pub(super) fn refuse(&mut self, refusal: Refusal) {
        assert_eq!(refusal == Refusal::Closed, self.is_closed, "{refusal:?}");
        self.refused = Some(refusal);
    }

    fn clear(&mut self) {
        self.last_number += 1;
        let id = ClearId(self.last_number as u64);
        self.clears.push(id);
        let mut effects = Effects::default();
        self.scheduler.begin_clear(id, Bell::Clear(id), &mut effects);
        self.carry_out(effects);
    }

    fn event<R>(&mut self, event: impl FnOnce(&mut Books, &mut BookEffects) -> R) {
        let mut effects = Effects::default();
        self.with(&mut effects, event);
        self.carry_out(effects);
    }

    /// Nothing is given out to those whose deadline has come.
    pub(super) fn with<R>(
        &mut self,
        effects: &mut BookEffects,
        event: impl FnOnce(&mut Books, &mut BookEffects) -> R,
    ) -> R {
        if self.scheduler.has_deadlines() {
            self.scheduler.time_out(self.now, effects);
        }
        event(&mut self.scheduler, effects)
    }

    pub(super) fn carry_out(&mut self, mut effects: BookEffects) {
        effects.drain(|effect| match effect {
            Effect::Ring(Bell::Request(number)) => {
                let mut waiting = self.waiting.iter_mut();
                let request = waiting.find(|request| request.number == number);
                let request = request.expect("a bell rings for somebody who waits");
                assert!(!request.is_rung, "a bell rings once");
                request.is_rung = true;
                self.served.push(request.ticket);
            }
            Effect::Ring(Bell::Keeper) => {
                assert!(self.keeper.take().is_some(), "a keeper that rests is rung");
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
