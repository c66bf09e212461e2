//! The lines in which requests wait, and the promises made to those in them.

use super::line::{Line, Waiters};
use super::{Lane, Scheduler, Waiter, WaiterId};

impl<K, V, B> Scheduler<K, V, B> {
    /// Puts a request into its line.
    pub(super) fn line_up(&mut self, waiter: Waiter<B>) -> WaiterId {
        let (lane, deadline) = (waiter.lane, waiter.deadline);
        let id = self.change_line(lane, |line, waiters| waiters.line_up(line, waiter));
        if deadline < u64::MAX {
            self.deadlines.insert((deadline, id));
        }
        id
    }

    /// Takes a queued request out of its line, and back any promise made to it.
    pub(super) fn leave(&mut self, id: WaiterId) -> Lane {
        self.take_promise_back(id);
        let Waiter { lane, deadline, .. } = self.waiters[id];
        if deadline < u64::MAX {
            self.deadlines.remove(&(deadline, id));
        }
        self.change_line(lane, |line, waiters| waiters.step_out(line, id));
        lane
    }

    fn change_line<R>(
        &mut self,
        lane: Lane,
        change: impl FnOnce(&mut Line, &mut Waiters<B>) -> R,
    ) -> R {
        match lane {
            Lane::Of(id) => self.change(id, |bucket, waiters| change(&mut bucket.line, waiters)),
            Lane::AnyOnceRoom(id) => {
                self.change(id, |bucket, waiters| change(&mut bucket.bounced, waiters))
            }
            Lane::Any => {
                let commons = self.commons.as_mut().expect("only a target has requests for any");
                commons.change_anyone(&mut self.waiters, change)
            }
        }
    }

    pub(super) fn promise(&mut self, id: WaiterId) {
        self.count_promise(id, true);
    }

    /// Forgets a promise, be it kept or void.
    pub(super) fn take_promise_back(&mut self, id: WaiterId) {
        if self.waiters.get(id).is_some_and(|waiter| waiter.promised) {
            self.count_promise(id, false);
        }
    }

    fn count_promise(&mut self, id: WaiterId, promised: bool) {
        let waiter = &mut self.waiters[id];
        waiter.promised = promised;
        let (Some(bucket), Some(commons)) = (waiter.lane.bucket(), &mut self.commons) else {
            return;
        };
        for count in [&mut commons.promised, &mut self.buckets[bucket].promised] {
            *count = if promised { *count + 1 } else { *count - 1 };
        }
    }
}
