use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult,
};

use super::{Contender, DEADPOOL, Plain};
use crate::worker::{Maker, Setup, Worker};

pub struct Factory(Maker);

impl Manager for Factory {
    type Type = Worker;
    type Error = ();

    async fn create(&self) -> Result<Worker, ()> {
        Ok(self.0.make().await)
    }

    #[inline]
    async fn recycle(&self, worker: &mut Worker, _: &Metrics) -> RecycleResult<()> {
        if worker.is_dead { Err(RecycleError::Backend(())) } else { Ok(()) }
    }
}

#[derive(Clone)]
pub struct Deadpool(Pool<Factory>);

impl Contender for Deadpool {
    const NAME: &'static str = DEADPOOL;

    type Guard = Object<Factory>;
    type Error = PoolError<()>;

    fn new(setup: &Setup) -> Self {
        let pool = Pool::builder(Factory(setup.maker.clone()))
            .max_size(setup.max_count.into())
            .queue_mode(QueueMode::Lifo)
            .build();
        Self(pool.expect("without timeouts no runtime is needed"))
    }

    fn discard(guard: Self::Guard) {
        let _ = Object::take(guard);
    }
}

impl Plain for Deadpool {
    #[inline]
    fn get(&self) -> impl Future<Output = Result<Self::Guard, Self::Error>> + Send {
        self.0.get()
    }
}
