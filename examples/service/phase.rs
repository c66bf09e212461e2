use std::time::Duration;

use tokio::time::Instant;

/// What happens to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Calm,
    Rush,
    SlowBackend,
    BackendDown,
    Leak,
    Recovery,
}

impl Phase {
    /// In their order, with how many sixtieths of a round each takes.
    const ROUND: [(Self, u32); 6] = [
        (Self::Calm, 11),
        (Self::Rush, 10),
        (Self::SlowBackend, 10),
        (Self::BackendDown, 7),
        (Self::Leak, 12),
        (Self::Recovery, 10),
    ];

    pub const ALL: [Self; 6] =
        [Self::Calm, Self::Rush, Self::SlowBackend, Self::BackendDown, Self::Leak, Self::Recovery];

    pub fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Rush => "rush",
            Self::SlowBackend => "slow backend",
            Self::BackendDown => "backend down",
            Self::Leak => "leak",
            Self::Recovery => "recovery",
        }
    }

    /// New requests in a second, for each pool.
    pub fn rate(self) -> f64 {
        if self == Self::Rush { 650.0 } else { 200.0 }
    }

    /// How long the backend takes to answer.
    pub fn answer(self) -> Duration {
        Duration::from_millis(if self == Self::SlowBackend { 90 } else { 16 })
    }
}

/// When each phase comes.
#[derive(Debug, Clone)]
pub struct Plan {
    start: Instant,
    round: Duration,
}

impl Plan {
    /// One round in this time, or again and again, a minute each.
    pub fn new(time: Option<Duration>) -> Self {
        Self { start: Instant::now(), round: time.unwrap_or(Duration::from_secs(60)) }
    }

    /// The sixtieth part of a round.
    pub fn unit(&self) -> Duration {
        self.round / 60
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn phase(&self) -> Phase {
        let mut rest = self.elapsed().as_secs_f64() % self.round.as_secs_f64();
        for (phase, share) in Phase::ROUND {
            let length = (self.unit() * share).as_secs_f64();
            if rest < length {
                return phase;
            }
            rest -= length;
        }
        Phase::Recovery
    }
}
