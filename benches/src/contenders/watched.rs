//! This crate with somebody who wants to know.

use std::sync::Arc;

use sfo_pool::{
    PoolError, PoolObserver, PoolOptions, PoolResult, WorkerGuard, WorkerPool, WorkerPoolConfig,
    WorkerPoolRef,
};

use crate::contenders::Contender;
use crate::contenders::ours::Factory;
use crate::worker::{Setup, Worker};

/// Is told of everything, and does nothing about it.
struct Idler;

impl PoolObserver for Idler {}

macro_rules! watched {
    ($(#[$doc:meta])* $contender:ident, $name:literal, $options:expr) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $contender(WorkerPoolRef<Worker, Factory>);

        impl Contender for $contender {
            const NAME: &'static str = $name;

            type Guard = WorkerGuard<Worker, Factory>;
            type Error = PoolError;

            fn new(setup: &Setup) -> Self {
                let limits = WorkerPoolConfig::default().with_max_count(Some(setup.max_count));
                let factory = Factory::new(setup.maker.clone());
                Self(WorkerPool::new_with_options(factory, limits, $options))
            }

            fn discard(mut guard: Self::Guard) {
                guard.is_dead = true;
            }
        }

        impl crate::contenders::Plain for $contender {
            #[inline]
            fn get(&self) -> impl Future<Output = PoolResult<Self::Guard>> + Send {
                self.0.get_worker()
            }
        }
    };
}

watched! {
    /// A number, an age and a count of uses are kept.
    Recorded, "with `with_worker_info`", PoolOptions::default().with_worker_info(true)
}

watched! {
    /// Who holds what is kept.
    Held, "with `with_outstanding`", PoolOptions::default().with_outstanding(true)
}

watched! {
    Observed, "with an observer", PoolOptions::default().with_observer(Arc::new(Idler))
}
