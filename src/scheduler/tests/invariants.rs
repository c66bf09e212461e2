//! What must hold after every event, said a second time, without the scheduler's indexes.

use super::choices::Choice;
use super::world::{Request, Wanted, World, can_serve};
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{BucketId, Lane, Refusal, Sharing, Slot, Stage, Ticket, WaiterId};

impl World {
    pub(super) fn check(&self) {
        self.check_conservation();
        self.check_tally();
        self.check_caps();
        self.check_indexes();
        self.check_records();
        self.check_deadlines();
        self.check_keeper();
        self.check_generations();
        self.check_nobody_waits_in_vain();
        let scheduler = &self.scheduler;
        let is_clearing = !(self.clears.is_empty() && self.told.is_empty());
        let shut = match (self.is_closed, is_clearing) {
            (true, _) => Some(Refusal::Closed),
            (false, is_clearing) => is_clearing.then_some(Refusal::Clearing),
        };
        assert_eq!(scheduler.shut, shut);
        assert!(self.clears.is_empty() || scheduler.slots > 0, "a clear is told of 0 slots");
        for id in scheduler.buckets.ids() {
            let bucket = &scheduler.buckets[id];
            let is_needed =
                bucket.slots > 0 || !bucket.line.is_empty() || !bucket.bounced.is_empty();
            let is_sole = self.rules.sharing == Sharing::Sole;
            assert!(is_needed || is_sole, "an empty bucket does not exist");
        }
        let granted = scheduler.waiters.iter().filter(|waiter| waiter.bell.is_none());
        let mut granted: Vec<_> = granted.map(|waiter| waiter.ticket).collect();
        granted.sort();
        let rung = self.waiting.iter().filter(|request| request.is_rung);
        let mut rung: Vec<_> = rung.map(|request| request.ticket).collect();
        rung.sort();
        assert_eq!(granted, rung, "whoever has something to collect was rung, and nobody else");
        assert_eq!(scheduler.waiters.len(), self.waiting.len());
    }

    /// What an event gave out went to those whose turn it was, and was no more than it freed.
    pub(super) fn check_service(&self, choice: Choice) {
        let gives_all_up = matches!(choice, Choice::Clear | Choice::Close | Choice::Invalidate);
        assert!(!gives_all_up || self.scheduler.idle == 0, "an idle worker is of before");
        if matches!(choice, Choice::Clear | Choice::Close) {
            return;
        }
        let is_refused =
            |served: &&Ticket| matches!(self.waiter(**served).state, WaiterState::Refused(_));
        let refused = self.served.iter().filter(is_refused).count();
        // One freed unit serves one request, and so does one that goes because its time has come;
        // with a target, the right to exceed it one more.
        let freed = 1 + self.freed + refused + usize::from(self.shares());
        let grows = matches!(choice, Choice::Resize(_));
        assert!(grows || self.served.len() - refused <= freed, "{:?}", self.served);
        if self.freed > 1 || refused > 0 {
            // Several events in a row: who was served by the first could not know of the last.
            return;
        }
        // A promise is kept, be it with the last right to exceed.
        let is_kept = matches!(choice, Choice::Destroyed(_)) && self.has_few_rights();
        for served in &self.served {
            self.check_need(*served);
            if is_kept {
                continue;
            }
            let older = self.waiting.iter().filter(|request| !request.is_rung);
            for passed in older.filter(|request| request.ticket < *served) {
                assert!(!self.could_have_had(passed, *served), "{passed:?} was passed");
            }
        }
    }

    fn has_few_rights(&self) -> bool {
        self.rules.overshoot_limit < usize::MAX
    }

    /// Whether a queued request could have been given what another one was served with.
    fn could_have_had(&self, request: &Request, served: Ticket) -> bool {
        let scheduler = &self.scheduler;
        let lane = self.waiter(request.ticket).lane;
        let slot = match &self.waiter(served).state {
            WaiterState::Handed(place) => {
                let (unit, slot) = &scheduler.parked[*place];
                return match (self.shares(), request.wanted) {
                    (true, Some(class)) => can_serve(unit, class),
                    (true, None) => true,
                    (false, _) => slot.bucket == lane.bucket(),
                };
            }
            WaiterState::Granted(slot) => slot,
            WaiterState::Queued | WaiterState::Refused(_) => return false,
        };
        let bucket = lane.bucket().map(|id| &scheduler.buckets[id]);
        let kin = self.kin(lane) + usize::from(slot.bucket == lane.bucket());
        let has_room = self.going(lane.bucket()) < kin
            && bucket.is_none_or(|bucket| bucket.slots < self.rules.bucket_limit);
        match self.rules.sharing {
            Sharing::Target(target) if scheduler.slots <= target => has_room,
            // A right to exceed the target.
            Sharing::Target(_) => {
                let is_claim = matches!(lane, Lane::Of(_));
                is_claim && bucket.is_some_and(|bucket| bucket.slots == 0 && bucket.promised == 0)
            }
            Sharing::Sole | Sharing::Apart => slot.bucket == lane.bucket() && has_room,
        }
    }

    pub(super) fn check_empty(&self) {
        let scheduler = &self.scheduler;
        assert_eq!((scheduler.slots, scheduler.idle, scheduler.waiters.len()), (0, 0, 0));
        assert_eq!((scheduler.parked.len(), scheduler.creating, scheduler.leaving), (0, 0, 0));
        assert_eq!((scheduler.records.len(), scheduler.records.ends()), (0, 0));
        let is_sole = self.rules.sharing == Sharing::Sole;
        assert_eq!(scheduler.buckets.ids().len(), usize::from(is_sole));
        if let Some(commons) = &scheduler.commons {
            assert_eq!((commons.promised, commons.retiring), (0, 0));
            assert!(commons.heads.is_empty() && commons.anyone.is_empty());
        }
    }

    /// All slots that exist, wherever they are.
    fn slots(&self) -> Vec<&Slot> {
        let waiters = self.scheduler.waiters.iter();
        let granted = waiters.filter_map(|waiter| match &waiter.state {
            WaiterState::Granted(slot) => Some(slot),
            _ => None,
        });
        let parked = self.scheduler.parked.iter().map(|(_, slot)| slot);
        let asked = self.asked.iter().map(|(_, _, slot)| slot);
        let dead = self.asked.iter().flat_map(|(request, ..)| &request.dead);
        let asked = asked.chain(dead.map(|(_, slot)| slot));
        let creating = self.creating.iter().map(|(_, slot)| slot);
        let creating = creating.chain(self.apart.iter().map(|creation| &creation.slot));
        let borrowed = self.borrowed.iter().map(|(_, slot)| slot);
        let doomed = self.doomed.iter().map(|doomed| &doomed.slot);
        let taken = self.taken.iter().map(|taken| &taken.slot);
        let held = granted.chain(parked).chain(asked).chain(creating).chain(borrowed);
        held.chain(doomed).chain(taken).collect()
    }

    fn check_conservation(&self) {
        let scheduler = &self.scheduler;
        let slots = self.slots();
        assert_eq!(scheduler.slots, slots.len() + scheduler.idle, "total");
        let mut idle = 0;
        for id in scheduler.buckets.ids() {
            let bucket = &scheduler.buckets[id];
            let here = |slot: &&&Slot| slot.bucket == Some(id);
            let creating = |slot: &&&Slot| is_creation(slot);
            idle += bucket.idle.len();
            assert_eq!(bucket.slots, slots.iter().filter(here).count() + bucket.idle.len());
            assert_eq!(bucket.creating, slots.iter().filter(here).filter(creating).count());
            assert_eq!(bucket.apart, self.going(Some(id)));
            let line = self.lane(Lane::Of(id));
            let promised = line.filter(|&id| scheduler.waiters[id].promised).count();
            assert_eq!(bucket.promised, promised);
        }
        assert_eq!((scheduler.idle, scheduler.asked), (idle, self.taken.len()));
        let is = |stage| slots.iter().filter(|slot| slot.stage() == stage).count();
        assert_eq!(scheduler.creating, slots.iter().filter(|slot| is_creation(slot)).count());
        assert_eq!(scheduler.leaving, is(Stage::Leaving));
        let apart = if self.rules.creates_apart { self.apart.len() } else { 0 };
        assert_eq!(scheduler.apart, apart);
        if let Some(commons) = &scheduler.commons {
            let promised = scheduler.waiters.iter().filter(|waiter| waiter.promised).count();
            assert_eq!(commons.promised, promised);
            assert_eq!(commons.apart, self.going(None));
        }
    }

    fn check_caps(&self) {
        let scheduler = &self.scheduler;
        for id in scheduler.buckets.ids() {
            let bucket = &scheduler.buckets[id];
            let limit = if self.shares() { self.rules.bucket_limit } else { self.most };
            assert!(bucket.slots <= limit, "the limit of a bucket");
            let excess = (bucket.slots - bucket.leaving).saturating_sub(self.rules.bucket_limit);
            assert!(self.shares() || bucket.retiring == excess, "what is too many has to go");
            assert!(bucket.retiring == 0 || bucket.idle.is_empty(), "what is idle goes first");
            assert!(bucket.idle.len() <= self.rules.bucket_idle_limit, "the idle limit");
            assert!(self.shares() || bucket.creating <= self.rules.creation_limit);
        }
        if let Sharing::Target(target) = self.rules.sharing {
            assert!(scheduler.creating <= self.rules.creation_limit, "the limit on creations");
            let over = scheduler.slots.saturating_sub(self.most);
            let most = self.rules.overshoot_limit.min(self.classes as usize);
            let creates_first = self.rules.creates_first;
            assert!(over <= most || creates_first, "one over the target for each class");
            let surplus = (scheduler.slots - scheduler.leaving).saturating_sub(target);
            let to_come = if creates_first { scheduler.creating } else { 0 };
            let has_surplus = scheduler.slots - scheduler.leaving - to_come > target;
            assert!(!has_surplus || scheduler.idle == 0, "what is idle above the target has to go");
            let retiring = scheduler.commons.as_ref().map(|commons| commons.retiring);
            assert!(retiring.is_some_and(|retiring| retiring <= surplus), "no more than too many");
        }
    }

    /// Something is kept of each worker, and an end entered of each that is idle and may get too old.
    fn check_records(&self) {
        let slots = self.slots().into_iter().filter(|slot| !is_creation(slot));
        let mut records: Vec<_> = slots.map(|slot| slot.record).collect();
        records.extend(self.idle().into_iter().map(|idle| idle.record));
        assert!(records.iter().all(|record| record.is_some() == self.keeps_records()));
        let used = records.iter().filter_map(|record| self.record(*record));
        assert!(
            used.into_iter().all(|record| record.uses <= self.rules.max_uses),
            "used too often"
        );
        let kept = if self.keeps_records() { records.len() } else { 0 };
        let ends = if self.span.is_some() { self.scheduler.idle } else { 0 };
        assert_eq!((self.scheduler.records.len(), self.scheduler.records.ends()), (kept, ends));
    }

    fn check_generations(&self) {
        for waiter in self.scheduler.waiters.iter() {
            let WaiterState::Granted(slot) = &waiter.state else { continue };
            assert!(self.scheduler.is_current(slot), "what is to be created is of now");
        }
    }

    fn check_deadlines(&self) {
        let queued = self.waiting.iter().filter(|request| !request.is_rung);
        let deadlines = queued.filter_map(|request| request.deadline.zip(request.waiter));
        assert_eq!(self.scheduler.deadlines, deadlines.collect());
    }

    fn check_indexes(&self) {
        let scheduler = &self.scheduler;
        if let Some(recency) = &scheduler.recency {
            let places: Vec<_> = recency.newest_first().collect();
            assert_eq!(places.len(), scheduler.idle);
            for id in scheduler.buckets.ids() {
                let of_bucket = places.iter().rev().filter(|(_, bucket)| *bucket == id);
                let idle = scheduler.buckets[id].idle.iter().map(|idle| idle.place);
                assert!(idle.eq(of_bucket.map(|(place, _)| Some(*place))));
            }
        }
        let mut queued = 0;
        for waiter in scheduler.waiters.iter() {
            if matches!(waiter.state, WaiterState::Queued) {
                queued += 1;
                assert!(self.lane(waiter.lane).any(|id| id.ticket == waiter.ticket));
            } else {
                assert!(!waiter.promised);
            }
        }
        let lanes = scheduler.buckets.ids().into_iter();
        let lanes = lanes.flat_map(|id| [Lane::Of(id), Lane::AnyOnceRoom(id)]).chain([Lane::Any]);
        let lanes: Vec<_> = lanes.collect();
        assert!(lanes.iter().all(|&lane| self.lane(lane).is_sorted()), "in the order of tickets");
        assert_eq!(lanes.iter().flat_map(|&lane| self.lane(lane)).count(), queued);
        let Some(commons) = &scheduler.commons else {
            return;
        };
        let mut heads = 0;
        for lane in lanes {
            let Some(head) = self.lane(lane).next() else {
                continue;
            };
            heads += 1;
            assert_eq!(commons.heads.get(&head), Some(&lane));
            let is_claim = matches!(lane, Lane::Of(_));
            let slots = lane.bucket().map(|id| scheduler.buckets[id].slots);
            let has_room = slots.is_none_or(|slots| slots < self.rules.bucket_limit)
                && self.going(lane.bucket()) < self.kin(lane);
            assert_eq!(commons.claims.contains(&head), is_claim && has_room);
            assert_eq!(commons.takers.contains(&head), !is_claim && has_room);
            assert_eq!(commons.missing.contains(&head), is_claim && slots == Some(0));
        }
        assert_eq!(commons.heads.len(), heads);
        let filed = commons.claims.len() + commons.takers.len();
        assert!(filed <= heads && commons.missing.is_subset(&commons.claims));
    }

    fn lane(&self, lane: Lane) -> impl Iterator<Item = WaiterId> {
        let scheduler = &self.scheduler;
        let line = match lane {
            Lane::Of(id) => Some(&scheduler.buckets[id].line),
            Lane::AnyOnceRoom(id) => Some(&scheduler.buckets[id].bounced),
            Lane::Any => scheduler.commons.as_ref().map(|commons| &commons.anyone),
        };
        line.into_iter().flat_map(|line| scheduler.waiters.in_line(line))
    }

    /// At rest nobody waits beside an idle worker that fits, a slot that is free, or one that
    /// could be freed.
    fn check_nobody_waits_in_vain(&self) {
        let queued = self.waiting.iter().filter(|request| !request.is_rung);
        for request in queued {
            assert!(!self.fits_something_idle(request.wanted), "{request:?} beside an idle worker");
            let waiter = self.waiter(request.ticket);
            let may_create = match self.rules.sharing {
                Sharing::Target(target) => self.may_create(waiter.lane, waiter.promised, target),
                Sharing::Sole | Sharing::Apart => waiter.lane.bucket().is_some_and(|id| {
                    let bucket = &self.scheduler.buckets[id];
                    bucket.slots < self.rules.bucket_limit
                        && bucket.creating < self.rules.creation_limit
                        && self.going(Some(id)) < self.kin(waiter.lane)
                }),
            };
            assert!(!may_create, "{request:?} beside a slot");
        }
    }

    fn may_create(&self, lane: Lane, is_promised: bool, target: usize) -> bool {
        let scheduler = &self.scheduler;
        let Some(commons) = &scheduler.commons else {
            return false;
        };
        let bucket = lane.bucket().map(|id| &scheduler.buckets[id]);
        let (going, kin) = (self.going(lane.bucket()), self.kin(lane));
        let has_room =
            going < kin && bucket.is_none_or(|bucket| bucket.slots < self.rules.bucket_limit);
        if self.scheduler.creating >= self.rules.creation_limit || !has_room {
            return false;
        }
        if scheduler.slots < target {
            return true;
        }
        // Two promises must not count on the same creation.
        if self.scheduler.creating + commons.promised >= self.rules.creation_limit {
            return false;
        }
        let (Lane::Of(_), Some(bucket)) = (lane, bucket) else {
            return false;
        };
        let is_missing = bucket.slots == 0 && bucket.promised == 0;
        let has_room = bucket.slots + bucket.promised < self.rules.bucket_limit
            && going + bucket.promised < kin;
        let above = scheduler.slots - target;
        let standing = if self.rules.creates_first { scheduler.idle } else { 0 };
        let has_victim = scheduler.idle > 0 && !self.rules.creates_first && above == 0;
        let may_replace = (above < standing || has_victim) && has_room;
        let may_exceed = is_missing && above < self.rules.overshoot_limit.saturating_add(standing);
        !is_promised && (may_replace || may_exceed)
    }

    /// How many creations go on apart in a bucket, or in none in particular.
    fn going(&self, bucket: Option<BucketId>) -> usize {
        let slots = self.apart.iter().map(|creation| &creation.slot);
        let is_here = |slot: &&Slot| slot.bucket == bucket;
        slots.filter(is_here).filter(|_| self.rules.creates_apart).count()
    }

    /// How many wait for what is created in this lane's bucket, or in none in particular.
    fn kin(&self, lane: Lane) -> usize {
        let queued = self.waiting.iter().filter(|request| !request.is_rung);
        let lanes = queued.map(|request| self.waiter(request.ticket).lane);
        lanes.filter(|other| other.bucket() == lane.bucket()).count()
    }

    /// Whoever may create is one more than creations go on for those that wait.
    fn check_need(&self, served: Ticket) {
        let waiter = self.waiter(served);
        if matches!(waiter.state, WaiterState::Granted(_)) {
            assert!(self.going(waiter.lane.bucket()) <= self.kin(waiter.lane), "one too many");
            let above =
                if self.shares() { self.scheduler.slots.saturating_sub(self.limit()) } else { 0 };
            let may_be = if self.rules.creates_first { self.scheduler.idle } else { 0 };
            let may_be = self.rules.overshoot_limit.saturating_add(may_be);
            assert!(above <= may_be, "above the target");
        }
    }

    fn fits_something_idle(&self, wanted: Wanted) -> bool {
        let serves = |id: BucketId| {
            self.scheduler.buckets[id].idle.iter().any(|idle| match (self.rules.sharing, wanted) {
                (Sharing::Target(_), Some(class)) => can_serve(&idle.value, class),
                (_, Some(class)) => idle.value.class == class,
                (_, None) => true,
            })
        };
        self.scheduler.buckets.ids().into_iter().any(serves)
    }
}

fn is_creation(slot: &Slot) -> bool {
    slot.stage().is_creation()
}
