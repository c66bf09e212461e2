use std::time::{Duration, Instant};

use crate::contenders::{Classified, PUBLISHED, ours, published};
use crate::harness::{CREATIONS_BY_GET, Case, Harness, Sample};
use crate::limits::BareClassified;
use crate::players;
use crate::stage::Stage;
use crate::worker::Setup;

pub fn warm(harness: &mut Harness) {
    for idle in [10, 1_000, 10_000] {
        let gets = harness.pick(10_000, 100);
        let mut case = Case::new("S7a").with_size(idle, "idle");
        if idle == 10 {
            case = case.with_target_beside(PUBLISHED, 0.6);
        }
        let players = players![round(idle, idle, gets):
            ours::Classified, published::Classified, BareClassified];
        harness.measure(case, players);
    }
}

pub fn evict(harness: &mut Harness) {
    let gets = harness.pick(2_000, 200);
    let case = Case::new("S7b")
        .with_size(1_000, "idle")
        .with_figure(CREATIONS_BY_GET)
        .with_target_beside(PUBLISHED, 0.4);
    let players = players![round(1_000, 2_000, gets):
        ours::Classified, published::Classified, BareClassified];
    harness.measure(case, players);
}

/// With more classes than workers each get finds that its class has just been evicted.
fn round<P: Classified>(
    workers: usize,
    classes: usize,
    gets: usize,
) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let setup = Setup::new(workers);
    let pool = stage.pool::<P>(&setup);
    let mut next = 0;
    stage.play(get_and_drop(&*pool, &mut next, classes, classes)).expect("enough time to create");
    move || {
        let before = setup.maker.made();
        let time = stage.play(get_and_drop(&*pool, &mut next, classes, gets))?;
        let made = setup.maker.made() - before;
        Some(Sample::of_each(time, gets).with_figure(f64::from(made) / gets as f64))
    }
}

async fn get_and_drop<P: Classified>(
    pool: &P,
    next: &mut usize,
    classes: usize,
    gets: usize,
) -> Duration {
    let start = Instant::now();
    for _ in 0..gets {
        drop(pool.get(*next as u64).await.expect("a worker"));
        *next = (*next + 1) % classes;
    }
    start.elapsed()
}
