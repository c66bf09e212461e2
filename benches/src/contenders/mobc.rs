use std::convert::Infallible;

use async_trait::async_trait;
use mobc::{Connection, Error, Manager, Pool};

use super::{Contender, Plain};
use crate::worker::{Maker, Setup, Worker};

pub struct Factory(Maker);

#[async_trait]
impl Manager for Factory {
    type Connection = Worker;
    type Error = Infallible;

    async fn connect(&self) -> Result<Worker, Infallible> {
        Ok(self.0.make().await)
    }

    async fn check(&self, worker: Worker) -> Result<Worker, Infallible> {
        Ok(worker)
    }

    #[inline]
    fn validate(&self, worker: &mut Worker) -> bool {
        !worker.is_dead
    }
}

#[derive(Clone)]
pub struct Mobc(Pool<Factory>);

impl Contender for Mobc {
    const NAME: &'static str = "mobc";

    type Guard = Connection<Factory>;
    type Error = Error<Infallible>;

    fn new(setup: &Setup) -> Self {
        let pool = Pool::builder()
            .max_open(setup.max_count.into())
            .max_idle(setup.max_count.into())
            .max_idle_lifetime(setup.idle_timeout)
            .test_on_check_out(false)
            .get_timeout(None)
            .build(Factory(setup.maker.clone()));
        Self(pool)
    }

    fn discard(guard: Self::Guard) {
        let _ = guard.into_inner();
    }
}

impl Plain for Mobc {
    #[inline]
    fn get(&self) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send {
        self.0.get()
    }
}
