use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::contenders::{Bb8, Deadpool, FastPool, Mobc, PUBLISHED, Plain, ours, published};
use crate::harness::{Case, Harness, Sample, Target};
use crate::limits::BarePool;
use crate::players;
use crate::stage::{Crowd, Stage};
use crate::worker::Setup;

const WORKERS: usize = 64;
const GETS: usize = 1_000;

pub fn burst(harness: &mut Harness) {
    let case = Case::new("S9")
        .with_figure("creations")
        .with_target_beside(PUBLISHED, 1.05)
        .with_target(Target::Figure { at_most: WORKERS as f64 });
    let players = players![round():
        ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool];
    harness.measure(case, players);
}

fn round<P: Plain>() -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    move || {
        let setup = Setup::new(WORKERS).with_creation_time(Duration::from_millis(1));
        let pool = stage.pool::<P>(&setup);
        let time = stage.play(get_all_at_once(&pool))?;
        Some(Sample::of_all(time).with_figure(setup.maker.made().into()))
    }
}

async fn get_all_at_once<P: Plain>(pool: &Arc<P>) -> Duration {
    let crowd = Crowd::new(GETS);
    let start = Instant::now();
    for _ in 0..GETS {
        let (pool, crowd) = (Arc::clone(pool), crowd.clone());
        tokio::spawn(async move {
            drop(pool.get().await.expect("a worker"));
            crowd.leave();
        });
    }
    crowd.dispersed().await;
    start.elapsed()
}
