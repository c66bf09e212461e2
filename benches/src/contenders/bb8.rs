use std::convert::Infallible;
use std::time::Duration;

use bb8::{ManageConnection, Pool, PooledConnection, QueueStrategy, RunError};

use super::{Contender, Plain};
use crate::worker::{Maker, Setup, Worker};

pub struct Factory(Maker);

impl ManageConnection for Factory {
    type Connection = Worker;
    type Error = Infallible;

    async fn connect(&self) -> Result<Worker, Infallible> {
        Ok(self.0.make().await)
    }

    async fn is_valid(&self, _: &mut Worker) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline]
    fn has_broken(&self, worker: &mut Worker) -> bool {
        worker.is_dead
    }
}

#[derive(Clone)]
pub struct Bb8(Pool<Factory>);

impl Contender for Bb8 {
    const NAME: &'static str = "bb8";

    type Guard = PooledConnection<'static, Factory>;
    type Error = RunError<Infallible>;

    fn new(setup: &Setup) -> Self {
        let pool = Pool::builder()
            .max_size(setup.max_count.into())
            .queue_strategy(QueueStrategy::Lifo)
            .test_on_check_out(false)
            .max_lifetime(None)
            .idle_timeout(setup.idle_timeout)
            // There is no way to have none.
            .connection_timeout(Duration::from_secs(3600))
            .build_unchecked(Factory(setup.maker.clone()));
        Self(pool)
    }

    fn discard(mut guard: Self::Guard) {
        guard.is_dead = true;
    }
}

impl Plain for Bb8 {
    /// Owned, as every other guard here is.
    #[inline]
    fn get(&self) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send {
        self.0.get_owned()
    }
}
