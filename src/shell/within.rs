use std::time::Duration;

use tokio::time::timeout;

use crate::PoolResult;
use crate::error::took_too_long;

/// Awaits the user's call, but no longer than it may take.
pub(super) async fn within<R>(
    limit: Option<Duration>,
    call: &'static str,
    future: impl Future<Output = PoolResult<R>>,
) -> PoolResult<R> {
    match limit {
        None => future.await,
        Some(limit) => {
            timeout(limit, future).await.unwrap_or_else(|_| Err(took_too_long(call, limit)))
        }
    }
}
