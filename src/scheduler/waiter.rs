use super::{BucketId, Index, Refusal, Slot};

/// A place in the order of requests: lower is older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(super) u64);

/// Names a waiter, in the order of their tickets. It names nobody else when that one has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaiterId {
    pub(crate) ticket: Ticket,
    pub(super) index: Index,
}

/// The line in which a request stands: all in one lane want the same, so only its oldest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Wants a worker of this bucket, or one of another that serves its key as well.
    Of(BucketId),
    /// Takes any worker.
    Any,
    /// Takes any worker; may create again once this bucket has room, for that is where the worker
    /// belonged that was created for it in vain.
    AnyOnceRoom(BucketId),
}

impl Lane {
    /// The bucket that must exist as long as somebody waits here.
    pub(super) fn bucket(self) -> Option<BucketId> {
        match self {
            Self::Of(bucket) | Self::AnyOnceRoom(bucket) => Some(bucket),
            Self::Any => None,
        }
    }
}

/// A request that is queued, or that has been given something it did not collect yet.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Waiter<B> {
    pub(super) ticket: Ticket,
    pub(super) lane: Lane,
    /// Present until it is rung.
    pub(super) bell: Option<B>,
    pub(super) state: WaiterState,
    /// Its neighbours in the line.
    pub(super) older: Option<Index>,
    pub(super) younger: Option<Index>,
    /// An idle worker is being destroyed so that its slot can go to this waiter.
    pub(super) promised: bool,
    /// Returned workers that went to a younger waiter while this one could have used their slot.
    pub(super) passed: u32,
    /// Whether it was not given anything by its own event.
    pub(super) waits: bool,
    /// Since when it waits, in nanoseconds.
    pub(super) since: u64,
    /// When it has waited long enough, in nanoseconds; `u64::MAX` for never.
    pub(super) deadline: u64,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) enum WaiterState {
    Queued,
    /// A returned worker is parked under this index.
    Handed(Index),
    /// May create in this slot.
    Granted(Slot),
    Refused(Refusal),
}

impl<B> Waiter<B> {
    pub(super) fn new(
        ticket: Ticket,
        lane: Lane,
        bell: B,
        (since, deadline): (u64, Option<u64>),
    ) -> Self {
        Self {
            ticket,
            lane,
            bell: Some(bell),
            state: WaiterState::Queued,
            older: None,
            younger: None,
            promised: false,
            passed: 0,
            waits: false,
            since,
            deadline: deadline.unwrap_or(u64::MAX),
        }
    }
}
