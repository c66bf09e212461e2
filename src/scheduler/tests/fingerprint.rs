use super::world::{Request, World};
use crate::scheduler::waiter::WaiterState;
use crate::scheduler::{Slot, Stage, Ticket};

const NONE: u8 = u8::MAX;

impl World {
    /// What tells this state from others that can behave differently: places instead of tickets,
    /// ages instead of times, and no numbers that only count up.
    pub(super) fn fingerprint(&self) -> Vec<u8> {
        let mut print = vec![self.clears.len() as u8, self.told.len() as u8];
        self.print_requests(&mut print);
        let mut borrowed: Vec<_> = self
            .borrowed
            .iter()
            .map(|(unit, slot)| [unit.class as u8, self.print_slot(slot)])
            .collect();
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
        print.push(NONE);
        self.print_idle(&mut print);
        print
    }

    fn place(&self, ticket: Ticket) -> u8 {
        let place = self.requests().iter().position(|request| request.ticket == ticket);
        place.map_or(NONE, |place| place as u8)
    }

    fn print_requests(&self, print: &mut Vec<u8>) {
        for request in self.requests() {
            let class = |class: Option<u32>| class.map_or(NONE, |class| class as u8);
            print.extend([class(request.wanted), class(request.full)]);
            let is_it = |other: &Request| other.ticket == request.ticket;
            if let Some((_, unit, slot)) = self.asked.iter().find(|(other, ..)| is_it(other)) {
                print.extend([0, unit.class as u8, self.print_slot(slot)]);
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
                        print.extend([3, unit.class as u8, self.print_slot(slot)]);
                    }
                    WaiterState::Granted(slot) => print.extend([4, self.print_slot(slot)]),
                    WaiterState::Refused(_) => print.push(5),
                }
            }
        }
    }

    fn print_slot(&self, slot: &Slot) -> u8 {
        let stage = match slot.stage() {
            Stage::Creating => 0,
            Stage::Live => 1,
            Stage::Leaving => 2,
        };
        let is_stale = slot.generation() != self.scheduler.generation;
        stage + 4 * u8::from(is_stale) + 8 * u8::from(slot.bucket.is_none())
    }

    fn print_idle(&self, print: &mut Vec<u8>) {
        for idle in self.idle() {
            let age = self.rules.idle_timeout.map_or(0, |end| end.min(self.now - idle.since));
            print.extend([idle.value.class as u8, age as u8]);
        }
    }
}
