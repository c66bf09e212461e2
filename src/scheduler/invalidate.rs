//! Giving up all workers of before, while requests go on.

use super::waiter::WaiterState;
use super::{Effects, Scheduler};
use crate::PoolDestroyReason;

impl<K, V, B> Scheduler<K, V, B> {
    /// What is idle goes at once, what is out as it comes back, and what comes of a creation that has
    /// begun is not welcome. Requests stay where they are.
    pub(crate) fn invalidate(&mut self, effects: &mut Effects<K, V, B>) {
        self.generation += 1;
        for waiter in self.waiters.iter_mut() {
            if let WaiterState::Granted(slot) = &mut waiter.state {
                // Nothing has been created in it yet.
                slot.set_generation(self.generation);
            }
        }
        self.doom_all(PoolDestroyReason::Invalidated, effects);
        self.alert(effects);
    }
}
