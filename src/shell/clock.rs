use tokio::time::Instant;

use super::aftermath::ask;
use crate::nanos::nanos;

/// The time since the pool was made, by tokio's clock, so that a paused runtime pauses it as well.
///
/// Without an option that needs the time it is always 0, and no clock is read.
#[derive(Debug)]
pub(super) struct Clock(Option<Instant>);

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    pub(super) fn new(is_needed: bool) -> Self {
        Self(is_needed.then(Instant::now))
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.0.map_or(0, Self::nanos_since)
    }

    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    fn nanos_since(epoch: Instant) -> u64 {
        // A clock that was paused once panics on a thread that is losing its locals. The scheduler
        // takes an earlier time than it knows for the latest.
        let now = ask(Instant::now).unwrap_or(epoch);
        nanos(now.saturating_duration_since(epoch))
    }
}
