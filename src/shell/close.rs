use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use super::within::{once, timed};
use super::{Fragile, Handle, Trade};

impl<T: Trade> Handle<T> {
    /// Closes the pool for good, and returns when the last destructor has.
    pub(crate) async fn close(&self) {
        let clearing = self.begin_clear(true);
        self.told_of_close().notify_waiters();
        if clearing.is_end {
            self.whole().tell(None, None, |it, origin| it.closed(origin));
        }
        clearing.finish().await;
    }

    /// The same, but no longer than this. Returns how many slots are left.
    pub(crate) async fn close_within(&self, limit: Duration) -> usize {
        let mut closing = pin!(self.close());
        // Without a timer where there is nothing to wait for, or no time.
        let mut is_done = once(closing.as_mut()).await.is_some();
        if !is_done && !limit.is_zero() {
            is_done = timed(Box::pin(timeout(limit, closing))).await.is_ok();
        }
        if is_done { 0 } else { self.status().total }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.whole().books.with(|books| books.is_closed())
    }

    pub(crate) async fn closed(&self) {
        // It keeps the task's waker, whose destructor may panic while the thread unwinds.
        let mut told = Fragile::new(Box::pin(self.told_of_close().notified()));
        // From here on it is told, so nothing is missed between the look and the wait.
        told.as_mut().enable();
        if !self.is_closed() {
            told.as_mut().await;
        }
    }
}
