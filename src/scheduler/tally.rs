//! What has happened so far, counted where it happens.

use super::{Refusal, Scheduler, Slot, Stage, Ticket};
use crate::PoolDestroyReason;
use crate::histogram::Histogram;

/// How far a request is known to the scheduler, which keeps no list of them.
///
/// One that was lent a worker has been served, for all that the scheduler knows; if the worker turns out
/// to be dead, the request comes back and is in progress again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was counted of it.
    #[default]
    New,
    InProgress,
    Served(How),
    /// It has ended without a worker.
    Over,
}

impl Standing {
    /// How it was served, be it in vain.
    pub(crate) fn how(self) -> How {
        match self {
            Self::Served(how) => how,
            Self::New | Self::InProgress | Self::Over => How::AtOnce,
        }
    }
}

/// How a request was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// By a worker that was idle.
    AtOnce,
    /// By one that somebody returned.
    AfterWaiting,
    /// By one that it created.
    ByCreation,
}

/// How a request ends that is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was turned away at once.
    Refused,
    /// A clear, or the end of the pool, has ended it.
    Cleared,
    TimedOut,
    Failed,
    Cancelled,
}

/// Counts since the pool was made. What a warm request does is not counted, but follows from the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Requests that have got a ticket.
    tickets: u64,
    /// Requests that were turned away before they got one.
    ticketless: u64,
    pub(crate) in_progress: u64,
    pub(crate) after_waiting: u64,
    pub(crate) by_creation: u64,
    ends: [u64; 5],
    pub(crate) created: u64,
    pub(crate) creations_failed: u64,
    pub(crate) creations_cancelled: u64,
    /// What all creations took that have brought a worker, in nanoseconds.
    pub(crate) creation_time: u64,
    /// By their reasons.
    pub(crate) destroyed: [u64; PoolDestroyReason::ALL.len()],
    /// How long requests waited that were given something, in nanoseconds.
    pub(crate) waits: Histogram,
}

impl Tally {
    pub(crate) fn started(&self) -> u64 {
        self.tickets + self.ticketless
    }

    pub(crate) fn at_once(&self) -> u64 {
        let ends: u64 = self.ends.iter().sum();
        self.started() - ends - self.in_progress - self.after_waiting - self.by_creation
    }

    pub(crate) fn ended(&self, end: End) -> u64 {
        self.ends[end as usize]
    }

    fn end(&mut self, end: End) {
        self.ends[end as usize] += 1;
    }

    /// A creation has brought a worker after so long.
    pub(super) fn create(&mut self, took: u64) {
        self.created += 1;
        self.creation_time = self.creation_time.saturating_add(took);
    }

    pub(super) fn destroy(&mut self, reason: PoolDestroyReason) {
        self.destroyed[reason as usize] += 1;
    }

    /// A request was turned away before it had a ticket.
    fn turn_away(&mut self, standing: &mut Standing) {
        self.ticketless += 1;
        self.end(End::Refused);
        *standing = Standing::Over;
    }

    /// A request goes on, be it that it was served in vain.
    pub(super) fn resume(&mut self, standing: &mut Standing) {
        match *standing {
            Standing::InProgress | Standing::Over => return,
            Standing::New | Standing::Served(How::AtOnce) => {}
            Standing::Served(How::AfterWaiting) => self.after_waiting -= 1,
            Standing::Served(How::ByCreation) => self.by_creation -= 1,
        }
        self.in_progress += 1;
        *standing = Standing::InProgress;
    }

    /// A request in progress has a worker.
    pub(super) fn serve(&mut self, standing: &mut Standing, how: How) {
        if *standing != Standing::InProgress {
            return;
        }
        self.in_progress -= 1;
        match how {
            How::AtOnce => {}
            How::AfterWaiting => self.after_waiting += 1,
            How::ByCreation => self.by_creation += 1,
        }
        *standing = Standing::Served(how);
    }

    /// A request is lent an idle worker, be it that it was served in vain before.
    pub(super) fn serve_at_once(&mut self, standing: &mut Standing) {
        self.resume(standing);
        self.serve(standing, How::AtOnce);
    }

    /// A request has ended without a worker; without a ticket it was turned away at the door.
    pub(super) fn end_early(&mut self, ticket: Option<Ticket>, standing: &mut Standing, end: End) {
        match ticket {
            None => self.turn_away(standing),
            Some(_) => self.fail(standing, end),
        }
    }

    /// A request has ended without a worker.
    pub(super) fn fail(&mut self, standing: &mut Standing, end: End) {
        self.resume(standing);
        if *standing == Standing::InProgress {
            self.in_progress -= 1;
            self.end(end);
            *standing = Standing::Over;
        }
    }

    /// Adds what another part of the pool has counted.
    fn add(&mut self, part: &Self) {
        let numbers = [
            (&mut self.ticketless, part.ticketless),
            (&mut self.in_progress, part.in_progress),
            (&mut self.after_waiting, part.after_waiting),
            (&mut self.by_creation, part.by_creation),
            (&mut self.created, part.created),
            (&mut self.creations_failed, part.creations_failed),
            (&mut self.creations_cancelled, part.creations_cancelled),
            (&mut self.creation_time, part.creation_time),
        ];
        let ends = self.ends.iter_mut().zip(part.ends);
        let destroyed = self.destroyed.iter_mut().zip(part.destroyed);
        let all = numbers.into_iter().chain(ends).chain(destroyed);
        all.for_each(|(number, more)| *number += more);
        self.waits.add(&part.waits);
    }
}

/// A tally that takes no room until something is counted.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct LazyTally(Option<Box<Tally>>);

impl LazyTally {
    pub(super) fn open(&mut self) -> &mut Tally {
        self.0.get_or_insert_default()
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Clearing | Refusal::Full { .. } => Self::Refused,
            Refusal::Cleared | Refusal::Closed => Self::Cleared,
            Refusal::TimedOut => Self::TimedOut,
        }
    }
}

impl<K, V, B> Scheduler<K, V, B> {
    /// Adds what has been counted here.
    pub(crate) fn add_tally(&self, sum: &mut Tally) {
        sum.tickets += self.last_ticket;
        if let Some(tally) = &self.tally.0 {
            sum.add(tally);
        }
    }

    /// A request whose worker is not ready yet is in progress.
    pub(crate) fn resume(&mut self, standing: &mut Standing) {
        self.tally.open().resume(standing);
    }

    /// The worker of a request in progress is ready, unless it has been given up with all of before.
    pub(crate) fn revive(
        &mut self,
        slot: Slot,
        standing: &mut Standing,
        how: How,
    ) -> Result<Slot, Slot> {
        if !self.is_current(&slot) {
            let reason = self.reason_of_before(&slot);
            return Err(slot.because(reason));
        }
        self.tally.open().serve(standing, how);
        Ok(slot)
    }

    /// A request has ended without a worker.
    pub(crate) fn fail(&mut self, standing: &mut Standing, end: End) {
        self.tally.open().fail(standing, end);
    }

    /// Counts what has become of the slot's worker, or of its creation.
    pub(super) fn count_end(&mut self, slot: &Slot) {
        match slot.stage() {
            Stage::Granted | Stage::Vain => {}
            Stage::Creating => self.tally.open().creations_cancelled += 1,
            Stage::Failed => self.tally.open().creations_failed += 1,
            Stage::New | Stage::Live | Stage::Leaving => {
                self.tally.open().destroy(slot.stamp.reason())
            }
        }
    }

    /// Why a worker goes that was given up with all of before.
    pub(super) fn reason_of_before(&self, slot: &Slot) -> PoolDestroyReason {
        if self.is_cleared(slot) {
            PoolDestroyReason::Cleared
        } else {
            PoolDestroyReason::Invalidated
        }
    }
}
