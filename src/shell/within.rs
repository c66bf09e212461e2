use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;

use crate::PoolResult;
use crate::error::took_too_long;

/// What comes of a future's first poll, if anything.
pub(super) async fn once<R>(future: impl Future<Output = R>) -> Option<R> {
    let mut future = Box::pin(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

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
