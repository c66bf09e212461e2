use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::contenders::{Bb8, Deadpool, FastPool, Mobc, PUBLISHED, Plain, ours, published};
use crate::harness::{Case, Harness, Player, Sample};
use crate::limits::BarePool;
use crate::players;
use crate::stage::{Crowd, Stage};
use crate::worker::Setup;

pub fn hand_off(harness: &mut Harness) {
    for threads in [1, 2] {
        for &waiters in harness.pick(&[1_000, 10_000, 100_000][..], &[1_000, 10_000]) {
            let at_most = if threads == 1 { 1.15 } else { 1.3 };
            let case = Case::new("S4")
                .with_size(waiters, "waiters")
                .with_threads(threads)
                .with_target_beside(PUBLISHED, at_most);
            let mut players = players![round(threads, waiters):
                ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
            players.push(Player::new("L6", round_of_wakes(threads, waiters)));
            harness.measure(case, players);
        }
    }
}

fn round<P: Plain>(threads: usize, waiters: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(threads);
    let pool = stage.pool::<P>(&Setup::new(1));
    move || {
        let time = stage.play(pass_on(&pool, waiters))?;
        Some(Sample::of_each(time, waiters))
    }
}

async fn pass_on<P: Plain>(pool: &Arc<P>, waiters: usize) -> Duration {
    let worker = pool.get().await.expect("a worker");
    let crowd = Crowd::new(waiters);
    for _ in 0..waiters {
        let (pool, crowd) = (Arc::clone(pool), crowd.clone());
        tokio::spawn(async move {
            drop(crowd.request(pool.get()).await.expect("a worker"));
            crowd.leave();
        });
    }
    crowd.gathered().await;
    let start = Instant::now();
    drop(worker);
    crowd.dispersed().await;
    start.elapsed()
}

/// L6: the tasks and their wakes, without a pool.
fn round_of_wakes(threads: usize, waiters: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(threads);
    move || {
        let time = stage.play(wake_on(waiters))?;
        Some(Sample::of_each(time, waiters))
    }
}

async fn wake_on(waiters: usize) -> Duration {
    let crowd = Crowd::new(waiters);
    let (first, mut own) = oneshot::channel::<()>();
    for _ in 0..waiters {
        let crowd = crowd.clone();
        let (next, nexts) = oneshot::channel::<()>();
        let called = std::mem::replace(&mut own, nexts);
        tokio::spawn(async move {
            crowd.request(called).await.expect("the one before calls");
            // The last one calls nobody.
            let _ = next.send(());
            crowd.leave();
        });
    }
    crowd.gathered().await;
    let start = Instant::now();
    first.send(()).expect("the first one waits");
    crowd.dispersed().await;
    start.elapsed()
}
