use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::Barrier;
use tokio::task::yield_now;

use crate::contenders::{Bb8, Deadpool, FastPool, Mobc, PUBLISHED, Plain, ours, published};
use crate::harness::{Case, Harness, Sample, Target};
use crate::limits::BarePool;
use crate::players;
use crate::stage::Stage;
use crate::worker::Setup;

pub fn enough(harness: &mut Harness) {
    let gets = harness.pick(64_000, 16_000);
    for threads in [1, 2] {
        let mut case = Case::new("S2").with_threads(threads);
        if threads == 1 {
            case = case.with_target_beside(PUBLISHED, 0.72);
        }
        let players = players![round(threads, 16, 16, gets):
            ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
        harness.measure(case, players);
    }
}

pub fn saturated(harness: &mut Harness) {
    let gets = harness.pick(64_000, 16_000);
    for threads in [1, 2] {
        let mut case =
            Case::new("S3").with_threads(threads).with_figure("most by fewest gets of a task");
        if threads == 1 {
            case = case
                .with_target_beside(PUBLISHED, 0.78)
                .with_target(Target::Figure { at_most: 1.05 });
        }
        let players = players![round(threads, 64, 4, gets):
            ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
        harness.measure(case, players);
    }
}

fn round<P: Plain>(
    threads: usize,
    tasks: usize,
    workers: usize,
    gets: usize,
) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(threads);
    let pool = stage.pool::<P>(&Setup::new(workers));
    move || {
        let shares = stage.play(share(&pool, tasks, gets))?;
        let start = shares.iter().map(|share| share.start).min()?;
        let end = shares.iter().map(|share| share.end).max()?;
        let most = shares.iter().map(|share| share.gets).max()?;
        let fewest = shares.iter().map(|share| share.gets).min()?;
        Some(Sample::of_each(end - start, gets).with_figure(most as f64 / fewest as f64))
    }
}

struct Share {
    start: Instant,
    end: Instant,
    gets: usize,
}

/// The tasks take gets from one heap until it is used up, so that the lucky ones get more.
async fn share<P: Plain>(pool: &Arc<P>, tasks: usize, gets: usize) -> Vec<Share> {
    let taken = Arc::new(AtomicUsize::new(0));
    // Without it those that the runtime comes to last might find nothing left.
    let all_run = Arc::new(Barrier::new(tasks));
    let spawn = |_| {
        let (pool, taken, all_run) = (Arc::clone(pool), Arc::clone(&taken), Arc::clone(&all_run));
        tokio::spawn(async move {
            all_run.wait().await;
            let start = Instant::now();
            let mut own = 0;
            while taken.fetch_add(1, Ordering::Relaxed) < gets {
                let worker = pool.get().await.expect("a worker");
                yield_now().await;
                drop(worker);
                own += 1;
            }
            Share { start, end: Instant::now(), gets: own }
        })
    };
    let tasks: Vec<_> = (0..tasks).map(spawn).collect();
    let mut shares = Vec::with_capacity(tasks.len());
    for task in tasks {
        shares.push(task.await.expect("no panic"));
    }
    shares
}
