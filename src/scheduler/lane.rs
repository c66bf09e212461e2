//! The lines in which requests wait, and the promises made to those in them.

use std::collections::BTreeSet;

use super::{Lane, Scheduler, Ticket};

impl<K, V, B> Scheduler<K, V, B> {
    /// Takes a queued request out of its line, and back any promise made to it.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Lane {
        self.take_promise_back(ticket);
        let lane = self.waiter(ticket).lane;
        self.change_lane(lane, |line| {
            line.remove(&ticket);
        });
        lane
    }

    pub(super) fn change_lane(&mut self, lane: Lane, change: impl FnOnce(&mut BTreeSet<Ticket>)) {
        match lane {
            Lane::Of(bucket) => self.change(bucket, |bucket| change(&mut bucket.line)),
            Lane::AnyOnceRoom(bucket) => self.change(bucket, |bucket| change(&mut bucket.bounced)),
            Lane::Any => {
                if let Some(commons) = &mut self.commons {
                    commons.change_anyone(change);
                }
            }
        }
    }

    pub(super) fn promise(&mut self, ticket: Ticket) {
        self.count_promise(ticket, true);
    }

    /// Forgets a promise, be it kept or void.
    pub(super) fn take_promise_back(&mut self, ticket: Ticket) {
        if self.waiters.get(&ticket).is_some_and(|waiter| waiter.promised) {
            self.count_promise(ticket, false);
        }
    }

    fn count_promise(&mut self, ticket: Ticket, promised: bool) {
        let waiter = self.waiter(ticket);
        waiter.promised = promised;
        let (Some(bucket), Some(commons)) = (waiter.lane.bucket(), &mut self.commons) else {
            return;
        };
        for count in [&mut commons.promised, &mut self.buckets[bucket].promised] {
            *count = if promised { *count + 1 } else { *count - 1 };
        }
    }
}
