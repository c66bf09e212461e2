/// [`Rules::max_passes`] of every pool.
pub(crate) const MAX_PASSES: u32 = 16;

/// What tells the three pools apart, as data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How many slots one bucket may hold.
    pub(crate) bucket_limit: usize,
    /// How many idle workers one bucket may keep.
    pub(crate) bucket_idle_limit: usize,
    /// How many creations may run at a time: in one bucket, or over all of them where they share.
    pub(crate) creation_limit: usize,
    /// How many requests may wait: for one bucket, or for all of them where they share.
    pub(crate) waiting_limit: usize,
    /// Nanoseconds after which an idle worker has expired; `None` for never.
    pub(crate) idle_timeout: Option<u64>,
    /// How many workers the keeper keeps idle where there is room.
    pub(crate) reserve: usize,
    /// Nanoseconds after which a worker has been out for too long; `None` for never.
    pub(crate) hold_limit: Option<u64>,
    /// How often a worker may be lent.
    pub(crate) max_uses: u64,
    /// How many returned workers may pass the oldest request for a bucket that could have used
    /// their slot, in favour of younger requests that they fit.
    ///
    /// Passing saves a destruction and a creation; doing so for ever would starve the older one.
    pub(crate) max_passes: u32,
    /// Whether creations go on apart from the requests for which they are begun.
    pub(crate) creates_apart: bool,
    /// Whether an idle worker makes way only when its replacement stands.
    pub(crate) creates_first: bool,
    /// By how many slots buckets that have nothing may exceed the target together.
    pub(crate) overshoot_limit: usize,
    pub(crate) sharing: Sharing,
}

/// What the buckets of a scheduler have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// There is one bucket for good.
    Sole,
    /// Buckets come and go, and none knows of another.
    Apart,
    /// Buckets come and go and share a target for the sum of their slots. A request may be for any
    /// of them, an idle worker may serve or yield to another bucket, and a bucket with nothing at
    /// all may exceed the target by one.
    Target(usize),
}

impl Rules {
    /// No limits at all.
    pub(crate) fn unlimited(sharing: Sharing) -> Self {
        Self {
            bucket_limit: usize::MAX,
            bucket_idle_limit: usize::MAX,
            creation_limit: usize::MAX,
            waiting_limit: usize::MAX,
            idle_timeout: None,
            reserve: 0,
            hold_limit: None,
            max_uses: u64::MAX,
            max_passes: MAX_PASSES,
            creates_apart: false,
            creates_first: false,
            overshoot_limit: usize::MAX,
            sharing,
        }
    }

    /// Whether it matters in which order workers of different buckets came back.
    pub(super) fn orders_across(&self) -> bool {
        match self.sharing {
            Sharing::Sole => false,
            Sharing::Apart => self.idle_timeout.is_some(),
            Sharing::Target(_) => true,
        }
    }
}
