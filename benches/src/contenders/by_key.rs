use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Contender, Deadpool, KD, Keyed, Plain};
use crate::limits::BarePool;
use crate::worker::Setup;

/// A plain pool for each key, in a map behind a lock.
#[derive(Clone)]
pub struct ByKey<P> {
    setup: Setup,
    pools: Arc<RwLock<HashMap<u64, P>>>,
}

impl<P: Plain> ByKey<P> {
    #[inline]
    fn pool_of(&self, key: u64) -> P {
        let pool = self.pools.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        pool.unwrap_or_else(|| self.new_pool_of(key))
    }

    #[cold]
    fn new_pool_of(&self, key: u64) -> P {
        let mut pools = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        pools.entry(key).or_insert_with(|| P::new(&self.setup)).clone()
    }
}

/// What the whole is called.
pub trait Composed {
    const NAME: &'static str;
}

impl Composed for Deadpool {
    const NAME: &'static str = KD;
}

impl Composed for BarePool {
    const NAME: &'static str = "L5s by key";
}

impl<P: Plain + Composed> Contender for ByKey<P> {
    const NAME: &'static str = <P as Composed>::NAME;

    type Guard = P::Guard;
    type Error = P::Error;

    fn new(setup: &Setup) -> Self {
        Self { setup: setup.clone(), pools: Arc::default() }
    }

    fn discard(guard: Self::Guard) {
        P::discard(guard);
    }
}

impl<P: Plain + Composed> Keyed for ByKey<P> {
    #[inline]
    fn get(&self, key: u64) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send {
        let pool = self.pool_of(key);
        async move { pool.get().await }
    }
}
