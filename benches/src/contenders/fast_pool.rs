use std::time::Duration;

use fast_pool::{ConnectionGuard, Manager, Pool};

use super::{Contender, Plain};
use crate::worker::{Maker, Setup, Worker};

pub struct Factory(Maker);

impl Manager for Factory {
    type Connection = Worker;
    type Error = String;

    async fn connect(&self) -> Result<Worker, String> {
        Ok(self.0.make().await)
    }

    /// The pool's only question to a worker; it can't be switched off.
    #[inline]
    async fn check(&self, worker: &mut Worker) -> Result<(), String> {
        if worker.is_dead { Err(String::new()) } else { Ok(()) }
    }
}

#[derive(Clone)]
pub struct FastPool(Pool<Factory>);

impl Contender for FastPool {
    const NAME: &'static str = "fast_pool";

    type Guard = ConnectionGuard<Factory>;
    type Error = String;

    fn new(setup: &Setup) -> Self {
        let pool = Pool::new(Factory(setup.maker.clone()));
        pool.set_max_open(setup.max_count.into());
        pool.set_max_idle_conns(setup.max_count.into());
        // Without one it gives up at once.
        pool.set_timeout_wait(Some(Duration::from_secs(3600)));
        Self(pool)
    }

    /// Leaves the worker to the next check: a guard that is told to drop it wakes nobody, and who
    /// waits then waits for ever.
    fn discard(mut guard: Self::Guard) {
        guard.is_dead = true;
    }
}

impl Plain for FastPool {
    #[inline]
    fn get(&self) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send {
        self.0.get()
    }
}
