use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

use super::aftermath::ask;
use crate::nanos::nanos;

/// The time since the pool first asked for it, by tokio's clock, so that a paused runtime pauses it
/// as well.
#[derive(Debug)]
pub(super) struct Clock {
    /// Whether an option needs the time of every request. If not, no clock is read on its way.
    is_needed: bool,
    epoch: OnceLock<Instant>,
}

impl Clock {
    pub(super) fn new(is_needed: bool) -> Self {
        let clock = Self { is_needed, epoch: OnceLock::new() };
        if is_needed {
            clock.read();
        }
        clock
    }

    /// The time in nanoseconds; always 0 where no option needs it.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        if self.is_needed { self.read() } else { 0 }
    }

    /// The time as [`now`](Self::now) tells it, and as it is, at one look.
    pub(super) fn times(&self) -> (u64, u64) {
        let time = self.read();
        (if self.is_needed { time } else { 0 }, time)
    }

    /// The time, whether an option needs it or not.
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    pub(super) fn read(&self) -> u64 {
        // A clock that was paused once panics on a thread that is losing its locals. The scheduler
        // takes an earlier time than it knows for the latest.
        let Ok(now) = ask(Instant::now) else { return 0 };
        self.nanos_of(now)
    }

    /// The time in so long; `None` if it never comes.
    #[allow(clippy::disallowed_methods, reason = "this is the place that may")]
    pub(super) fn deadline(&self, limit: Duration) -> Option<(Instant, u64)> {
        let instant = Instant::now().checked_add(limit)?;
        let start = self.read();
        Some((instant, start.saturating_add(nanos(limit))))
    }

    fn nanos_of(&self, instant: Instant) -> u64 {
        let epoch = self.epoch.get_or_init(|| instant);
        nanos(instant.saturating_duration_since(*epoch))
    }
}
