use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

use super::keyed::queue_up;
use crate::contenders::{
    Bb8, ByKey, DEADPOOL, Deadpool, FastPool, KD, Keyed, Mobc, Plain, ours, published,
};
use crate::harness::{CREATIONS_BY_GET, Case, Harness, Sample};
use crate::limits::BarePool;
use crate::players;
use crate::stage::{Crowd, Stage};
use crate::worker::Setup;

pub fn all(harness: &mut Harness) {
    for &waiters in harness.pick(&[100, 1_000, 10_000][..], &[100, 1_000]) {
        let case = Case::new("S8")
            .with_size(waiters, "waiters")
            .with_figure(CREATIONS_BY_GET)
            .with_target_beside(DEADPOOL, 1.0);
        let players = players![round(waiters):
            ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
        harness.measure(case, players);
    }
}

fn round<P: Plain>(waiters: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let setup = Setup::new(1);
    let pool = stage.pool::<P>(&setup);
    move || {
        let before = setup.maker.made();
        let time = stage.play(use_up(&pool, waiters))?;
        let made = setup.maker.made() - before;
        // The first one is for nobody: all wait for it.
        Some(Sample::of_each(time, waiters).with_figure(f64::from(made - 1) / waiters as f64))
    }
}

async fn use_up<P: Plain>(pool: &Arc<P>, waiters: usize) -> Duration {
    let worker = pool.get().await.expect("a worker");
    let crowd = Crowd::new(waiters);
    for _ in 0..waiters {
        let (pool, crowd) = (Arc::clone(pool), crowd.clone());
        tokio::spawn(async move {
            let worker = crowd.request(pool.get()).await.expect("a worker");
            yield_now().await;
            P::discard(worker);
            crowd.leave();
        });
    }
    crowd.gathered().await;
    let start = Instant::now();
    P::discard(worker);
    crowd.dispersed().await;
    start.elapsed()
}

pub fn beside_waiters(harness: &mut Harness) {
    for &waiters in harness.pick(&[100, 1_000, 10_000][..], &[100, 1_000]) {
        let returns = harness.pick(5, 2);
        let case = Case::new("S8k").with_size(waiters, "waiters").with_target_beside(KD, 1.5);
        let players = players![round_beside_waiters(waiters, returns):
            ours::Keyed, published::Keyed, ByKey<Deadpool>, ByKey<BarePool>];
        harness.measure(case, players);
    }
}

fn round_beside_waiters<P: Keyed>(
    waiters: usize,
    returns: usize,
) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(&Setup::new(1));
    let queue = stage.play(queue_up(&pool, 1, waiters)).expect("enough time to queue");
    move || {
        assert_eq!(queue.workers.len(), 1, "all wait for this one");
        let mut time = Duration::ZERO;
        for _ in 0..returns {
            time += stage.play(return_dead(&*pool, 1))?;
        }
        Some(Sample::of_each(time, returns))
    }
}

/// From the return until a task that was spawned after it has had its turn, behind all those whom
/// the return woke.
async fn return_dead<P: Keyed>(pool: &P, key: u64) -> Duration {
    let worker = pool.get(key).await.expect("a worker");
    let start = Instant::now();
    P::discard(worker);
    tokio::spawn(async {}).await.expect("no panic");
    start.elapsed()
}
