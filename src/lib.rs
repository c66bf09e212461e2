//! x

#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
#![deny(clippy::unwrap_used)]

mod classified_worker_pool;
mod error;
mod guard;
mod keyed_worker_pool;
mod limits;
mod options;
mod scheduler;
mod shell;
mod worker_pool;

pub use sfo_result::err as pool_err;
pub use sfo_result::into_err as into_pool_err;

pub use self::classified_worker_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
    ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, WorkerClassification,
};
pub use self::error::{PoolError, PoolErrorCode, PoolResult};
pub use self::keyed_worker_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig,
    KeyedWorkerPoolRef, WorkerKey,
};
pub use self::options::PoolOptions;
pub use self::worker_pool::{
    Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
};
