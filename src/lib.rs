#![doc = include_str!("../README.md")]
#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
// `clippy.toml` says which methods: who may lock, ask the time, spawn.
#![deny(clippy::disallowed_methods, clippy::unwrap_used)]

mod classified_worker_pool;
mod destroy_reason;
mod error;
mod guard;
mod histogram;
mod keyed_worker_pool;
mod limits;
#[cfg(doctest)]
mod must_not_compile;
mod names;
mod nanos;
mod observer;
mod operations;
mod options;
mod outstanding;
mod retry;
mod scheduler;
mod shell;
mod statistics;
mod status;
mod worker_pool;

/// Makes a [`PoolError`], which remembers the place of the call.
///
/// | form | code | message |
/// |---|---|---|
/// | `pool_err!("{host} is down")` | [`Failed`](PoolErrorCode::Failed) | as `format!` makes it |
/// | `pool_err!(code, "{host} is down")` | `code` | as `format!` makes it |
/// | `pool_err!(code)` | `code` | empty |
///
/// The first argument must be a literal, which is the format, or the path of a code, such as
/// `PoolErrorCode::Failed`. For a `String` write `pool_err!("{message}")`. Where nothing else says so,
/// annotate the type: `let error: PoolError = ...`.
///
/// # Example
///
/// ```
/// use sfo_pool::{PoolError, PoolErrorCode, PoolResult, pool_err};
///
/// fn connect(host: &str) -> PoolResult<()> {
///     Err(pool_err!("{host} is down"))
/// }
///
/// let error = connect("east").unwrap_err();
/// assert_eq!(error.code(), PoolErrorCode::Failed);
/// assert_eq!(error.msg(), "east is down");
///
/// let message = String::from("there is no such host");
/// let error: PoolError = pool_err!(PoolErrorCode::InvalidConfig, "{message}");
/// assert_eq!(error.code(), PoolErrorCode::InvalidConfig);
/// assert_eq!(error.msg(), message);
/// ```
pub use sfo_result::err as pool_err;

/// Makes a closure for `map_err`: it turns an error into a [`PoolError`] with that error as its source.
///
/// | form | code | message |
/// |---|---|---|
/// | `into_pool_err!("{host} is down")` | [`Failed`](PoolErrorCode::Failed) | as `format!` makes it |
/// | `into_pool_err!(code, "{host} is down")` | `code` | as `format!` makes it |
/// | `into_pool_err!(code)` | `code` | empty |
///
/// The first argument must be a literal, which is the format, or the path of a code, such as
/// `PoolErrorCode::Failed`. For a `String` write `into_pool_err!("{message}")`. Where nothing else says
/// so, annotate the type of the result.
///
/// The error must be [`std::error::Error`]` + Send + Sync + 'static`. A `Box<dyn Error>` is not one:
/// use `.map_err(|error| pool_err!("{error}"))` for it.
///
/// # Example
///
/// ```
/// use std::error::Error;
///
/// use sfo_pool::{PoolErrorCode, PoolResult, into_pool_err, pool_err};
///
/// fn port(text: &str) -> PoolResult<u16> {
///     text.parse().map_err(into_pool_err!(PoolErrorCode::InvalidConfig, "{text:?} is not a port"))
/// }
///
/// let error = port("http").unwrap_err();
/// assert_eq!(error.code(), PoolErrorCode::InvalidConfig);
/// assert_eq!(error.msg(), "\"http\" is not a port");
/// assert!(error.source().unwrap().is::<std::num::ParseIntError>());
///
/// let boxed: Result<(), Box<dyn Error>> = Err("refused".into());
/// let result: PoolResult<()> = boxed.map_err(|error| pool_err!("{error}"));
/// assert_eq!(result.unwrap_err().msg(), "refused");
/// ```
pub use sfo_result::into_err as into_pool_err;

pub use self::classified_worker_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
    ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, WorkerClassification,
};
pub use self::destroy_reason::PoolDestroyReason;
pub use self::error::{PoolError, PoolErrorCode, PoolResult};
pub use self::keyed_worker_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig,
    KeyedWorkerPoolRef, WorkerKey,
};
#[cfg(feature = "metrics")]
pub use self::observer::metrics::PoolMetrics;
#[cfg(feature = "tracing")]
pub use self::observer::tracing::PoolTracing;
pub use self::observer::{PoolObserver, PoolOrigin, PoolStep};
pub use self::options::PoolOptions;
pub use self::outstanding::PoolOutstanding;
pub use self::retry::PoolRetry;
pub use self::statistics::{PoolStatistics, PoolWaitTimes};
pub use self::status::{PoolPhase, PoolRetained, PoolStatus, PoolWorkerInfo};
pub use self::worker_pool::{
    Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
};

/// Lives through a history of the scheduler, for `fuzz/` alone.
#[cfg(fuzzing)]
pub fn live(history: &[u8]) {
    scheduler::live(history);
}

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
    #[doc = include_str!("../doc/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../doc/observing.md")]
    struct Observing;
}
