use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use sfo_pool::{PoolError, PoolErrorCode, PoolResult};
use tokio::task::unconstrained;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_test::task::{Spawn, spawn};

/// A call to a pool, polled by hand. Dropping it cancels the call.
pub struct Call<T>(Spawn<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T> Call<T> {
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        // A law is one long poll to tokio, which would make the 129th thing in it wait for another.
        Self(spawn(Box::pin(unconstrained(future))))
    }

    pub fn poll(&mut self) -> Poll<T> {
        self.0.poll()
    }

    pub fn is_woken(&self) -> bool {
        self.0.is_woken()
    }

    /// This call under the caller's own timeout.
    pub fn within(self, seconds: u64) -> Call<Result<T, Elapsed>>
    where
        T: 'static,
    {
        Call::new(timeout(Duration::from_secs(seconds), self.into_future()))
    }

    /// The bare future, for a waker of the test's own.
    pub fn into_future(self) -> Pin<Box<dyn Future<Output = T> + Send>> {
        self.0.into_inner()
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
