//! What the scheduler should have counted, counted a second time by the world.

use super::world::World;
use crate::scheduler::{End, How, Standing, Tally};

/// What has happened in a world.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Expected {
    pub(super) started: u64,
    pub(super) at_once: u64,
    pub(super) after_waiting: u64,
    pub(super) by_creation: u64,
    ends: [u64; 5],
    pub(super) created: u64,
    pub(super) creations_failed: u64,
    /// Workers, apart from those of which the world has nothing to do with the end.
    pub(super) destroyed: u64,
}

impl Expected {
    pub(super) fn end(&mut self, end: End) {
        self.ends[end as usize] += 1;
    }
}

const ENDS: [End; 5] = [End::Refused, End::Cleared, End::TimedOut, End::Failed, End::Cancelled];

impl World {
    pub(super) fn check_tally(&self) {
        let (mut tally, expected) = (Tally::default(), &self.expected);
        self.scheduler.add_tally(&mut tally);
        let in_progress = self.waiting.len() + self.creating.len();
        assert_eq!(tally.in_progress, in_progress as u64);
        assert_eq!(tally.started(), expected.started);
        // Who asks a worker is taken for served until the worker turns out to be dead.
        assert_eq!(tally.at_once(), expected.at_once + self.asked.len() as u64);
        assert_eq!(tally.after_waiting, expected.after_waiting);
        assert_eq!(tally.by_creation, expected.by_creation);
        assert_eq!(ENDS.map(|end| tally.ended(end)), ENDS.map(|end| expected.ends[end as usize]));
        let served = tally.at_once() + tally.after_waiting + tally.by_creation;
        let ended: u64 = ENDS.map(|end| tally.ended(end)).into_iter().sum();
        assert_eq!(
            tally.started(),
            served + ended + tally.in_progress,
            "every request is somewhere"
        );

        assert_eq!(tally.created, expected.created);
        assert_eq!(tally.creations_failed, expected.creations_failed);
        assert_eq!(tally.creations_cancelled, 0);
        let destroyed: u64 = tally.destroyed.iter().sum();
        assert_eq!(destroyed, expected.destroyed);
        let there = self.scheduler.slots - self.scheduler.creating;
        assert_eq!(tally.created, there as u64 + destroyed, "every worker is somewhere");

        for request in self.waiting.iter().chain(self.creating.iter().map(|(request, _)| request)) {
            assert_eq!(request.standing, Standing::InProgress, "{request:?}");
        }
        for (request, ..) in &self.asked {
            let is_new = request.standing == Standing::New;
            assert!(is_new || request.standing == Standing::Served(How::AtOnce), "{request:?}");
        }
    }
}
