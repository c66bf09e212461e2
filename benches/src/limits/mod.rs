//! What the work costs when it is written by hand for the one scenario, without health checks,
//! clears, panics or fairness between classes: no pool can be much faster.

mod bare_classified;
mod bare_keyed;
mod bare_pool;
mod chain;
mod two_locks;

pub use self::bare_classified::BareClassified;
pub use self::bare_keyed::BareKeyed;
pub use self::bare_pool::BarePool;
pub use self::two_locks::TwoLocks;
