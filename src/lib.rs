#![doc = include_str!("../README.md")]
#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
// `clippy.toml` says which methods: who may lock, ask the time, spawn.
#![deny(clippy::disallowed_methods, clippy::unwrap_used)]

mod classified_worker_pool;
mod error;
mod guard;
mod keyed_worker_pool;
mod limits;
mod nanos;
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

/// The other documents whose examples the tests compile.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.zh-CN.md")]
    struct ReadmeZhCn;
    #[doc = include_str!("../CHANGELOG.md")]
    struct Changelog;
    #[doc = include_str!("../CONTRIBUTING.md")]
    struct Contributing;
    #[doc = include_str!("../doc/design.md")]
    struct Design;
}
