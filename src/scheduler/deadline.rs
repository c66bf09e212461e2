//! Requests that have waited long enough.

use super::waiter::WaiterState;
use super::{Effects, Refusal, Scheduler};

impl<K, V, B> Scheduler<K, V, B> {
    /// Whether somebody in a line has a deadline. If so, whoever brings an event that gives something
    /// out tells the time first, by [`time_out`](Self::time_out).
    #[inline]
    pub(crate) fn has_deadlines(&self) -> bool {
        !self.deadlines.is_empty()
    }

    /// Ends the queued requests whose deadline has come, so that nothing is given to them.
    pub(crate) fn time_out(&mut self, now: u64, effects: &mut Effects<K, V, B>) {
        let now = self.advance(now);
        while let Some(&(deadline, id)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            let bucket = self.leave(id).bucket();
            self.notify(id, WaiterState::Refused(Refusal::TimedOut), effects);
            // A promise that it leaves behind counted against the limit on creations.
            self.settle(bucket, effects);
            if let Some(bucket) = bucket {
                self.sweep(bucket, effects);
            }
        }
    }
}
