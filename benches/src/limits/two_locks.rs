use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use crate::contenders::{Contender, Plain};
use crate::worker::Setup;

/// L4: one lock for the get and one for the drop, and an `Arc` that keeps the pool alive.
#[derive(Clone)]
pub struct TwoLocks(Arc<Mutex<usize>>);

impl TwoLocks {
    #[inline]
    fn lock(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
}

pub struct Guard(TwoLocks);

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        self.0.lock();
    }
}

impl Contender for TwoLocks {
    const NAME: &'static str = "L4";

    type Guard = Guard;
    type Error = Infallible;

    fn new(_: &Setup) -> Self {
        Self(Arc::default())
    }

    fn discard(guard: Guard) {
        drop(guard);
    }
}

impl Plain for TwoLocks {
    #[inline]
    async fn get(&self) -> Result<Guard, Infallible> {
        self.lock();
        Ok(Guard(self.clone()))
    }
}
