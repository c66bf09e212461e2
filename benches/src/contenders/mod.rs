//! The pools, each behind one of three traits: the caller sees the pool's own future and guard,
//! unboxed.

mod bb8;
mod by_key;
mod deadpool;
mod fast_pool;
mod mobc;
mod sfo;
mod watched;

use std::fmt::Debug;

pub use self::bb8::Bb8;
pub use self::by_key::ByKey;
pub use self::deadpool::Deadpool;
pub use self::fast_pool::FastPool;
pub use self::mobc::Mobc;
pub use self::sfo::{ours, published};
pub use self::watched::{Held, Observed, Recorded};
use crate::worker::Setup;

pub const OURS: &str = "ours";
pub const PUBLISHED: &str = "0.4.1";
pub const DEADPOOL: &str = "deadpool";
/// A map of deadpools: what a user would write instead of a keyed pool.
pub const KD: &str = "KD";

pub trait Contender: Clone + Send + Sync + 'static {
    const NAME: &'static str;

    type Guard: Send + 'static;
    type Error: Debug + Send;

    /// Called within a runtime.
    fn new(setup: &Setup) -> Self;

    /// Gives back a worker that can't be used again, in the way that the pool offers.
    fn discard(guard: Self::Guard);
}

pub trait Plain: Contender {
    fn get(&self) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send;
}

/// The limit of the setup is that of each key.
pub trait Keyed: Contender {
    fn get(&self, key: u64) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send;
}

pub trait Classified: Contender {
    fn get(&self, class: u64) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send;
}
