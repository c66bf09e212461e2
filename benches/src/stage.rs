//! Where a contender plays: a runtime of its own, so that tasks which one leaves behind (mobc
//! returns its workers by spawning) do not cost another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::contenders::Contender;
use crate::worker::Setup;

/// What takes longer is given up.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage {
    runtime: Runtime,
}

impl Stage {
    pub fn new(threads: usize) -> Self {
        let mut builder = match threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        // The first kind of runtime takes no notice of the number.
        let runtime = builder.worker_threads(threads).enable_time().build();
        Self { runtime: runtime.expect("the system allows a few threads") }
    }

    pub fn pool<C: Contender>(&self, setup: &Setup) -> Arc<C> {
        let _context = self.runtime.enter();
        Arc::new(C::new(setup))
    }

    /// Runs it to its end, or to the end of patience.
    pub fn play<T>(&self, act: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, act).await.ok() })
    }
}

/// Tasks that first queue up and then leave one after another.
#[derive(Clone)]
pub struct Crowd(Arc<Counts>);

struct Counts {
    expected: usize,
    waiting: AtomicUsize,
    gone: AtomicUsize,
    all_gone: Notify,
}

impl Crowd {
    pub fn new(expected: usize) -> Self {
        let (waiting, gone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Counts { expected, waiting, gone, all_gone: Notify::new() }))
    }

    /// Awaits the request, and counts it as soon as it has been polled.
    pub async fn request<T>(&self, request: impl Future<Output = T>) -> T {
        let mut request = std::pin::pin!(request);
        let first = std::future::poll_fn(|context| Poll::Ready(request.as_mut().poll(context)));
        let first = first.await;
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        match first {
            Poll::Ready(output) => output,
            Poll::Pending => request.await,
        }
    }

    pub async fn gathered(&self) {
        while self.0.waiting.load(Ordering::Relaxed) < self.0.expected {
            yield_now().await;
        }
    }

    pub fn leave(&self) {
        if self.0.gone.fetch_add(1, Ordering::AcqRel) + 1 == self.0.expected {
            self.0.all_gone.notify_one();
        }
    }

    pub async fn dispersed(&self) {
        self.0.all_gone.notified().await;
    }
}
