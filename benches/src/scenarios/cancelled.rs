use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::contenders::{Bb8, Deadpool, FastPool, Mobc, Plain, ours, published};
use crate::harness::{Case, Harness, Sample, Target};
use crate::limits::BarePool;
use crate::players;
use crate::stage::Stage;
use crate::worker::Setup;

pub fn waiters(harness: &mut Harness) {
    for &waiters in harness.pick(&[1_000, 10_000, 100_000][..], &[1_000, 100_000]) {
        let case = Case::new("S5")
            .with_size(waiters, "cancelled")
            .with_target(Target::Nanos { at_most: 5_000.0 });
        let players = players![round(waiters):
            ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
        harness.measure(case, players);
    }
}

fn round<P: Plain>(waiters: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(&Setup::new(1));
    move || stage.play(release_and_get(&*pool, waiters)).map(Sample::of_all)
}

async fn release_and_get<P: Plain>(pool: &P, waiters: usize) -> Duration {
    let worker = pool.get().await.expect("a worker");
    queue_and_cancel(pool, waiters);
    let start = Instant::now();
    drop(worker);
    let worker = pool.get().await.expect("the same worker");
    let time = start.elapsed();
    drop(worker);
    time
}

/// All of them wait at the same time, and then all go.
fn queue_and_cancel<P: Plain>(pool: &P, waiters: usize) {
    let mut context = Context::from_waker(Waker::noop());
    let mut requests: Vec<_> = (0..waiters).map(|_| Box::pin(pool.get())).collect();
    for request in &mut requests {
        assert!(request.as_mut().poll(&mut context).is_pending());
    }
}
