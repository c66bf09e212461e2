use std::time::Duration;

use crate::PoolStep;
use crate::names::impl_names;
use crate::scheduler::{Counts, Refusal};

/// What went wrong, for a program to branch on; the message of the [`PoolError`] is for people.
///
/// New codes come with new options, so a `match` needs a wildcard arm.
///
/// # Example
///
/// ```
/// use sfo_pool::PoolErrorCode;
///
/// fn may_repeat(code: PoolErrorCode) -> bool {
///     match code {
///         PoolErrorCode::Clearing | PoolErrorCode::Cleared => true,
///         _ => false,
///     }
/// }
///
/// assert!(may_repeat(PoolErrorCode::Cleared));
/// assert!(!may_repeat(PoolErrorCode::default()));
/// ```
#[derive(Debug, Copy, Clone, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum PoolErrorCode {
    /// Whatever has no code of its own. It is the default, so that a factory can report an error of
    /// its own with [`pool_err!`](crate::pool_err) and a message alone.
    #[default]
    Failed,
    /// The request came while the pool was being cleared. It may be repeated when that is done.
    Clearing,
    /// The request was waiting or creating when a clear began, which ended it.
    Cleared,
    /// A limit is zero, or the factory returned a worker of another key or class, or one that
    /// denies its own; or an option makes no sense for this pool. Repeating the request changes nothing.
    InvalidConfig,
    /// The request, or one call of the factory, took longer than an option or the caller allows.
    Timeout,
    /// As many requests wait as an option allows. Repeating it at once makes it worse.
    Full,
    /// The pool is closed, for good.
    Closed,
}

impl_names!(PoolErrorCode {
    Failed: "failed",
    Clearing: "clearing",
    Cleared: "cleared",
    InvalidConfig: "invalid_config",
    Timeout: "timeout",
    Full: "full",
    Closed: "closed",
});

/// The error of every pool: a [`PoolErrorCode`], a message, and maybe a source.
///
/// It prints as a log wants it, with its code and place. For people take its `msg()` and the chain
/// of its `source()`, which is a method of [`std::error::Error`].
///
/// # Example
///
/// ```
/// use std::error::Error;
/// use std::io;
///
/// use sfo_pool::{PoolError, PoolErrorCode, into_pool_err};
///
/// let refused: Result<(), _> = Err(io::Error::other("refused"));
/// let error: PoolError = refused.map_err(into_pool_err!("cannot connect")).unwrap_err();
///
/// assert_eq!(error.code(), PoolErrorCode::Failed);
/// assert_eq!(error.msg(), "cannot connect");
/// assert_eq!(error.source().unwrap().to_string(), "refused");
/// ```
pub type PoolError = sfo_result::Error<PoolErrorCode>;

/// The result of whatever a pool or a factory does.
///
/// # Example
///
/// ```
/// use sfo_pool::{PoolResult, into_pool_err, pool_err};
///
/// fn port(text: &str) -> PoolResult<u16> {
///     let port = text.parse().map_err(into_pool_err!("{text:?} is not a port"))?;
///     if port == 0 {
///         return Err(pool_err!("port 0 cannot be connected to"));
///     }
///     Ok(port)
/// }
///
/// assert_eq!(port("80").unwrap(), 80);
/// assert!(port("http").is_err());
/// ```
pub type PoolResult<T> = sfo_result::Result<T, PoolErrorCode>;

pub(crate) fn invalid_config(why: &str) -> PoolError {
    PoolError::new(PoolErrorCode::InvalidConfig, why.to_owned())
}

/// Not a `From`, which the compiler would show to users, with a type that is none of theirs.
pub(crate) fn refused(refusal: Refusal) -> PoolError {
    match refusal {
        Refusal::Clearing => {
            let why = "pool is clearing: some of its workers or creations have yet to end; \
                       repeat the request when clear_all_worker() has returned";
            PoolError::new(PoolErrorCode::Clearing, why.to_owned())
        }
        Refusal::Cleared => {
            let why = "pool cleared: clear_all_worker() was called while the request was under way; \
                       repeat it";
            PoolError::new(PoolErrorCode::Cleared, why.to_owned())
        }
        Refusal::Closed => {
            let why = "pool is closed: close() was called; make a new pool to go on";
            PoolError::new(PoolErrorCode::Closed, why.to_owned())
        }
        Refusal::Full { waiting } => {
            let why = format!(
                "pool is full: {} already, as many as max_waiting_count allows; repeat the request \
                 later, or raise one of the limits",
                waiting_requests(waiting)
            );
            PoolError::new(PoolErrorCode::Full, why)
        }
        Refusal::TimedOut => PoolError::new(PoolErrorCode::Timeout, "request timed out".to_owned()),
    }
}

/// A request has taken as long as it may.
pub(crate) fn timed_out(
    step: PoolStep,
    limit: Duration,
    counts: &Counts,
    source: Option<PoolError>,
) -> PoolError {
    let doing = match step {
        PoolStep::Idle | PoolStep::Waiting => "waiting for a worker",
        PoolStep::Recycling => "recycling a worker",
        PoolStep::Creating => "creating a worker",
    };
    let &Counts { total, idle, creating, waiting, .. } = counts;
    let workers =
        if total == 1 { "there is 1 worker".into() } else { format!("there are {total} workers") };
    let why = format!(
        "request timed out after {limit:?} while {doing}: {workers}, {idle} of them idle and {creating} \
         being created, and {}; raise the timeout or the limit on workers, or return them sooner",
        waiting_requests(waiting)
    );
    match source {
        None => PoolError::new(PoolErrorCode::Timeout, why),
        // Not by the macro, which wants a crate for logs where a user of sfo-result has that on.
        Some(source) => PoolError::from((PoolErrorCode::Timeout, why, source)),
    }
}

fn waiting_requests(count: usize) -> String {
    if count == 1 { "1 request waits".to_owned() } else { format!("{count} requests wait") }
}

/// A call of the factory has taken as long as it may.
pub(crate) fn took_too_long(call: &str, limit: Duration) -> PoolError {
    let why =
        format!("factory took longer than {limit:?} for {call}: raise its timeout, or see why");
    PoolError::new(PoolErrorCode::Timeout, why)
}
