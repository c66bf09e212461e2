use std::time::Duration;

use sfo_pool::{PoolDestroyReason, PoolOutstanding, PoolStatistics, PoolStatus};
use tokio::time::Instant;

use crate::phase::Phase;
use crate::pools::Pools;

/// What is known of all pools at one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    pub phase: Phase,
    pub elapsed: Duration,
    pub rows: Vec<Row>,
    /// The last lines of the log.
    pub log: Vec<String>,
}

/// What is known of one pool.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: &'static str,
    pub limit: String,
    pub status: PoolStatus,
    /// Half of those that had to wait, and 99 of 100, waited no longer than this, since the start.
    pub waits: [Option<Duration>; 2],
    pub acquired_per_second: f64,
    pub destroyed: Vec<(&'static str, u64)>,
    pub longest: Option<PoolOutstanding>,
}

/// Knows what was before, to tell how fast it goes.
pub struct Sampler {
    before: Option<(Instant, [u64; 3])>,
}

impl Sampler {
    pub fn new() -> Self {
        Self { before: None }
    }

    pub fn look(
        &mut self,
        pools: &Pools,
        phase: Phase,
        elapsed: Duration,
        log: Vec<String>,
    ) -> Sample {
        let Pools { general, keyed, classified } = pools;
        let looks = [
            ("general", general.status(), general.statistics(), general.outstanding()),
            ("keyed", keyed.status(), keyed.statistics(), keyed.outstanding()),
            ("classified", classified.status(), classified.statistics(), classified.outstanding()),
        ];
        let now = Instant::now();
        let served = [0, 1, 2].map(|pool: usize| served(&looks[pool].2));
        let (then, before) = self.before.replace((now, served)).unwrap_or((now, served));
        let seconds = (now - then).as_secs_f64().max(f64::MIN_POSITIVE);
        let rows = looks.into_iter().zip(served.iter().zip(before)).map(|(look, (now, before))| {
            let (name, status, statistics, outstanding) = look;
            let limit = status.max_count.map_or("none".to_owned(), |count| count.to_string());
            Row {
                name,
                limit: if name == "keyed" { format!("{limit} a key") } else { limit },
                waits: [0.5, 0.99].map(|share| statistics.wait_times.quantile(share)),
                acquired_per_second: (now - before) as f64 / seconds,
                destroyed: destroyed(&statistics),
                longest: outstanding.into_iter().next(),
                status,
            }
        });
        Sample { phase, elapsed, rows: rows.collect(), log }
    }
}

fn served(statistics: &PoolStatistics) -> u64 {
    statistics.served_at_once + statistics.served_after_wait + statistics.served_by_creation
}

/// The most frequent reason first.
fn destroyed(statistics: &PoolStatistics) -> Vec<(&'static str, u64)> {
    let all =
        PoolDestroyReason::ALL.iter().map(|&reason| (reason.name(), statistics.destroyed(reason)));
    let mut some: Vec<_> = all.filter(|&(_, count)| count > 0).collect();
    some.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    some
}
