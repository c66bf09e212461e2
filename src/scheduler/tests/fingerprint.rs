use super::world::{Request, Unit, World};
use crate::scheduler::bucket::Idle;
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{Index, Record, Refusal, Slot, Stage, Ticket};

const NONE: u8 = u8::MAX;

impl World {
    /// What tells this state from others that can behave differently: places instead of tickets,
    /// ages instead of times, and no numbers that only count up.
    pub(super) fn fingerprint(&self) -> Vec<u8> {
        let mut print = vec![self.clears.len() as u8, self.told.len() as u8];
        let retiring = self.scheduler.commons.as_ref().map_or(0, |commons| commons.retiring);
        print.extend([u8::from(self.is_closed), self.limit() as u8, retiring as u8]);
        self.print_requests(&mut print);
        let borrowed = self.borrowed.iter();
        let mut borrowed: Vec<_> =
            borrowed.map(|(unit, slot)| self.print_worker(unit, slot)).collect();
        borrowed.sort_unstable();
        let mut doomed: Vec<_> = self
            .doomed
            .iter()
            .map(|doomed| {
                let heir = doomed.heir.map_or(NONE, |heir| self.place(heir.ticket));
                [doomed.value.class as u8, self.print_slot(&doomed.slot), heir]
            })
            .collect();
        doomed.sort_unstable();
        print.push(NONE);
        print.extend(borrowed.into_iter().flatten());
        print.push(NONE);
        print.extend(doomed.into_iter().flatten());
        if let Some((alarm, creates)) = self.keeper {
            let left = alarm.saturating_sub(self.now).min(u64::from(NONE - 1));
            print.extend([NONE, left as u8, u8::from(creates)]);
        }
        if !self.apart.is_empty() {
            print.push(NONE);
            self.print_apart(&mut print);
        }
        print.push(NONE);
        self.print_idle(&mut print);
        if !self.taken.is_empty() {
            print.push(NONE);
            self.print_taken(&mut print);
        }
        print
    }

    fn place(&self, ticket: Ticket) -> u8 {
        let place = self.requests().iter().position(|request| request.ticket == ticket);
        place.map_or(NONE, |place| place as u8)
    }

    fn print_requests(&self, print: &mut Vec<u8>) {
        for request in self.requests() {
            let class = |class: Option<u32>| class.map_or(NONE, |class| class as u8);
            print.extend([class(request.wanted), class(request.full), u8::from(request.tries)]);
            let left = request.deadline.map(|deadline| deadline.saturating_sub(self.now));
            print.push(left.map_or(NONE, |left| left as u8));
            let is_it = |other: &Request| other.ticket == request.ticket;
            if let Some((_, unit, slot)) = self.asked.iter().find(|(other, ..)| is_it(other)) {
                print.push(0);
                print.extend(self.print_worker(unit, slot));
                let dead = request.dead.iter();
                print.extend(
                    dead.flat_map(|(unit, slot)| [unit.class as u8, self.print_slot(slot)]),
                );
                print.push(NONE);
            } else if let Some((_, slot)) = self.creating.iter().find(|(other, _)| is_it(other)) {
                print.extend([1, self.print_slot(slot)]);
            } else {
                let waiter = self.waiter(request.ticket);
                match &waiter.state {
                    WaiterState::Queued => {
                        print.extend([2, u8::from(waiter.promised), waiter.passed as u8]);
                    }
                    WaiterState::Handed(place) => {
                        let (unit, slot) = &self.scheduler.parked[*place];
                        print.push(3);
                        print.extend(self.print_worker(unit, slot));
                    }
                    WaiterState::Granted(slot) => print.extend([4, self.print_slot(slot)]),
                    WaiterState::Refused(Refusal::TimedOut) => print.push(5),
                    WaiterState::Refused(_) => print.push(6),
                }
            }
        }
    }

    fn print_apart(&self, print: &mut Vec<u8>) {
        let requests = self.requests();
        let place = |number| requests.iter().position(|request| request.number == number);
        let key = |slot: &Slot| slot.bucket.map(|id| self.scheduler.buckets[id].key);
        let mut apart: Vec<_> = self
            .apart
            .iter()
            .map(|creation| {
                let place = creation.by.and_then(place).map_or(NONE, |place| place as u8);
                let class = |class: Option<u32>| class.map_or(NONE, |class| class as u8);
                let (wanted, bucket) = (class(creation.wanted), class(key(&creation.slot)));
                [place, wanted, bucket, self.print_slot(&creation.slot)]
            })
            .collect();
        apart.sort_unstable();
        print.extend(apart.into_iter().flatten());
    }

    fn print_slot(&self, slot: &Slot) -> u8 {
        let stage = match slot.stage() {
            Stage::Creating | Stage::Failed | Stage::Vain => 0,
            Stage::New | Stage::Live => 1,
            Stage::Leaving => 2,
            Stage::Granted => 3,
        };
        let is_stale = slot.generation() != self.scheduler.generation;
        let is_cleared = slot.generation() < self.scheduler.cleared;
        let flags = [is_stale, slot.bucket.is_none(), is_cleared].map(u8::from);
        stage + 4 * flags[0] + 8 * flags[1] + 16 * flags[2]
    }

    /// How often the worker has been used, and for how long it has lived, as far as that matters.
    fn print_record(&self, record: Option<Index>) -> [u8; 2] {
        let Some(Record { uses, born, .. }) = self.record(record) else {
            return [0, 0];
        };
        let uses = if self.rules.max_uses < u64::MAX { uses } else { 0 };
        let age = self.span.map_or(0, |span| span.min(self.now - born));
        [uses as u8, age as u8]
    }

    fn print_worker(&self, unit: &Unit, slot: &Slot) -> [u8; 4] {
        let [uses, age] = self.print_record(slot.record);
        [unit.class as u8, self.print_slot(slot), uses, age]
    }

    /// For how long a worker has been idle, as far as that matters.
    fn rest(&self, since: u64) -> u8 {
        self.rules.idle_timeout.map_or(0, |end| end.min(self.now - since)) as u8
    }

    fn print_idle(&self, print: &mut Vec<u8>) {
        for idle in self.idle() {
            print.extend([idle.value.class as u8, self.rest(idle.since)]);
            print.extend(self.print_record(idle.record));
        }
    }

    /// With the place among the idle ones that each has kept.
    fn print_taken(&self, print: &mut Vec<u8>) {
        let recency = self.scheduler.recency.as_ref();
        let order = |idle: &Idle<Unit>| recency.zip(idle.place).map(|(all, it)| all.order(it));
        let idle: Vec<_> = self.idle().into_iter().map(order).collect();
        for taken in &self.taken {
            print.extend(self.print_worker(&taken.value, &taken.slot));
            let others = self.taken.iter().map(|other| other.order).chain(idle.iter().copied());
            let older = others.filter(|order| *order < taken.order).count();
            print.extend([self.rest(taken.since), older as u8]);
        }
    }
}
