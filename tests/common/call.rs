use std::pin::Pin;
use std::task::Poll;

use sfo_pool::{PoolError, PoolErrorCode, PoolResult};
use tokio_test::task::{Spawn, spawn};

/// A call to a pool, polled by hand. Dropping it cancels the call.
pub struct Call<T>(Spawn<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T> Call<T> {
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(spawn(Box::pin(future)))
    }

    pub fn poll(&mut self) -> Poll<T> {
        self.0.poll()
    }

    pub fn is_woken(&self) -> bool {
        self.0.is_woken()
    }

    /// Polls once, and panics if the call has ended.
    #[track_caller]
    pub fn expect_pending(&mut self) {
        assert!(self.poll().is_pending(), "the call has ended");
    }

    /// Polls once, and panics if the call has not ended.
    #[track_caller]
    pub fn expect_ready(&mut self) -> T {
        match self.poll() {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the call still waits"),
        }
    }
}

impl<G> Call<PoolResult<G>> {
    /// Polls once, and panics unless the call was served.
    #[track_caller]
    pub fn expect_worker(&mut self) -> G {
        match self.expect_ready() {
            Ok(guard) => guard,
            Err(error) => panic!("the call failed: {error}"),
        }
    }

    /// Polls once, and panics unless the call failed.
    #[track_caller]
    pub fn expect_error(&mut self) -> PoolError {
        match self.expect_ready() {
            Ok(_) => panic!("the call was served"),
            Err(error) => error,
        }
    }

    /// Polls once, and panics unless the call failed with `code`.
    #[track_caller]
    pub fn expect_code(&mut self, code: PoolErrorCode) {
        assert_eq!(self.expect_error().code(), code);
    }
}
