//! What is pooled: next to nothing, so that the pool's own cost shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// One word, the same for every contender.
#[derive(Debug)]
pub struct Worker {
    pub serial: u32,
    pub is_dead: bool,
}

/// What every pool is given.
#[derive(Debug, Clone)]
pub struct Setup {
    pub max_count: u16,
    pub idle_timeout: Option<Duration>,
    pub maker: Maker,
}

impl Setup {
    pub fn new(max_count: usize) -> Self {
        let max_count = max_count.try_into().expect("a limit fits in 16 bits");
        Self { max_count, idle_timeout: None, maker: Maker::default() }
    }

    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = Some(idle_timeout);
        self
    }

    #[must_use]
    pub fn with_creation_time(mut self, creation_time: Duration) -> Self {
        self.maker.creation_time = creation_time;
        self
    }
}

/// Makes workers and counts them.
#[derive(Debug, Clone, Default)]
pub struct Maker {
    creation_time: Duration,
    made: Arc<AtomicU32>,
}

impl Maker {
    #[inline]
    pub async fn make(&self) -> Worker {
        if !self.creation_time.is_zero() {
            tokio::time::sleep(self.creation_time).await;
        }
        Worker { serial: self.made.fetch_add(1, Ordering::Relaxed), is_dead: false }
    }

    pub fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }
}
