use crate::names::impl_names;

/// Why a worker has left its pool.
///
/// New reasons come with new options, so a `match` needs a wildcard arm.
///
/// # Example
///
/// See [`PoolStatistics`](crate::PoolStatistics).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PoolDestroyReason {
    /// It said that it does not work, or could not be recycled.
    #[default]
    Unhealthy,
    /// It was idle for too long.
    Idle,
    /// It was as old as it may get.
    Lifetime,
    /// It was used as often as it may.
    Uses,
    /// It made way for a worker of another class.
    Evicted,
    /// The pool was cleared, closed or dropped.
    Cleared,
    /// Its guard was discarded, or the predicate of `retain` denied it.
    Discarded,
    /// It was taken out of the pool, and lives on.
    Detached,
    /// There were too many: idle ones, of its class, or in all.
    Surplus,
    /// Its thread unwound from a panic, or a question to it panicked.
    Panicked,
    /// All workers of before were given up by `invalidate_all`.
    Invalidated,
}

impl_names!(PoolDestroyReason {
    Unhealthy: "unhealthy",
    Idle: "idle",
    Lifetime: "lifetime",
    Uses: "uses",
    Evicted: "evicted",
    Cleared: "cleared",
    Discarded: "discarded",
    Detached: "detached",
    Surplus: "surplus",
    Panicked: "panicked",
    Invalidated: "invalidated",
});
