use std::time::Duration;

/// Nanoseconds, or as many as there is room for: 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The nanoseconds of a timeout; `None` if it never comes.
pub(crate) fn timeout_nanos(timeout: Option<Duration>) -> Option<u64> {
    timeout.map(nanos).filter(|&timeout| timeout < u64::MAX)
}
