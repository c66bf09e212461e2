use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;

use super::Fragile;
use super::aftermath::Aftermath;
use crate::PoolResult;
use crate::error::took_too_long;

/// Awaits a future with a timer, boxed, for that is large and most calls have none. It keeps the
/// task's waker, whose destructor may panic, and must neither lose what has come of the future nor
/// abort.
pub(super) async fn timed<R>(future: Pin<Box<impl Future<Output = R>>>) -> R {
    let mut future = Fragile::new(future);
    let result = future.as_mut().await;
    let mut aftermath = Aftermath::default();
    aftermath.run(|| drop(future));
    aftermath.resume_instead_of(result)
}

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
        Some(limit) => timed(Box::pin(timeout(limit, future)))
            .await
            .unwrap_or_else(|_| Err(took_too_long(call, limit))),
    }
}
