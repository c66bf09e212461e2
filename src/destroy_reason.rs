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

impl PoolDestroyReason {
    /// All there are, in the order of their declaration.
    ///
    /// # Example
    ///
    /// ```
    /// use sfo_pool::PoolDestroyReason;
    ///
    /// assert!(PoolDestroyReason::ALL.contains(&PoolDestroyReason::Unhealthy));
    /// ```
    pub const ALL: &'static [Self] = &Self::EACH;

    /// The same, with their number.
    pub(crate) const EACH: [Self; 11] = [
        Self::Unhealthy,
        Self::Idle,
        Self::Lifetime,
        Self::Uses,
        Self::Evicted,
        Self::Cleared,
        Self::Discarded,
        Self::Detached,
        Self::Surplus,
        Self::Panicked,
        Self::Invalidated,
    ];

    /// One word, in lower case, for a log or as the value of a label.
    ///
    /// # Example
    ///
    /// ```
    /// use sfo_pool::PoolDestroyReason;
    ///
    /// assert_eq!(PoolDestroyReason::Lifetime.name(), "lifetime");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Unhealthy => "unhealthy",
            Self::Idle => "idle",
            Self::Lifetime => "lifetime",
            Self::Uses => "uses",
            Self::Evicted => "evicted",
            Self::Cleared => "cleared",
            Self::Discarded => "discarded",
            Self::Detached => "detached",
            Self::Surplus => "surplus",
            Self::Panicked => "panicked",
            Self::Invalidated => "invalidated",
        }
    }
}
