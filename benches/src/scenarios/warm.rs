use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::contenders::{
    Bb8, DEADPOOL, Deadpool, FastPool, Held, Mobc, Observed, PUBLISHED, Plain, Recorded, ours,
    published,
};
use crate::harness::{Case, Harness, Sample};
use crate::limits::{BarePool, TwoLocks};
use crate::players;
use crate::stage::Stage;
use crate::worker::Setup;

pub fn one_task(harness: &mut Harness) {
    let gets = harness.pick(100_000, 20_000);
    let setup = Setup::new(16);
    let case =
        Case::new("S1").with_target_beside(PUBLISHED, 0.35).with_target_beside(DEADPOOL, 0.16);
    let players = players![round(&setup, gets):
        ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool, TwoLocks];
    harness.measure(case, players);
}

pub fn idle_timeout(harness: &mut Harness) {
    let gets = harness.pick(100_000, 20_000);
    let setup = Setup::new(16).with_idle_timeout(Duration::from_secs(60));
    let case = Case::new("S1i").with_target_beside(PUBLISHED, 0.65);
    let players = players![round(&setup, gets): ours::Plain, published::Plain, Bb8, Mobc];
    harness.measure(case, players);
}

/// What it costs that somebody wants to know.
pub fn watched(harness: &mut Harness) {
    let gets = harness.pick(100_000, 20_000);
    let setup = Setup::new(16);
    let case = Case::new("S1w").with_ratio_to_ours();
    let players = players![round(&setup, gets): ours::Plain, Recorded, Held, Observed];
    harness.measure(case, players);
}

fn round<P: Plain>(setup: &Setup, gets: usize) -> impl FnMut() -> Option<Sample> + use<P> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(setup);
    move || {
        let time = stage.play(get_and_drop(&*pool, gets))?;
        Some(Sample::of_each(time, gets))
    }
}

async fn get_and_drop<P: Plain>(pool: &P, gets: usize) -> Duration {
    let start = Instant::now();
    for _ in 0..gets {
        drop(pool.get().await.expect("a worker"));
    }
    start.elapsed()
}

/// Few enough to end before a busy system puts both threads on one core again.
pub const GETS_SIDE_BY_SIDE: usize = 20_000;

pub fn two_threads(harness: &mut Harness) {
    let case = Case::new("S1x2").with_threads(2).with_target_beside(PUBLISHED, 0.25);
    let players = players![round_of_two():
        ours::Plain, published::Plain, Deadpool, Bb8, Mobc, FastPool, BarePool, TwoLocks];
    harness.measure(case, players);
}

fn round_of_two<P: Plain>() -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(2);
    let pool = stage.pool::<P>(&Setup::new(16));
    move || {
        let time = stage.play(side_by_side(|_| {
            let pool = Arc::clone(&pool);
            async move {
                get_and_drop(&*pool, GETS_SIDE_BY_SIDE).await;
            }
        }))?;
        Some(Sample::of_each(time, 2 * GETS_SIDE_BY_SIDE))
    }
}

/// From the moment when both run to the one when both have ended.
pub async fn side_by_side<T>(task: impl Fn(usize) -> T) -> Duration
where
    T: Future<Output = ()> + Send + 'static,
{
    let turn = Arc::new(AtomicUsize::new(0));
    let [one, other] = [0, 1].map(|index| {
        let (task, turn) = (task(index), Arc::clone(&turn));
        tokio::spawn(async move {
            take_turns(&turn, index);
            let start = Instant::now();
            task.await;
            (start, Instant::now())
        })
    });
    let (one, other) = (one.await.expect("no panic"), other.await.expect("no panic"));
    one.1.max(other.1) - one.0.min(other.0)
}

/// Returns when two threads have met often enough to be on a core each. To yield would let one
/// thread, or one core, serve both in turn.
fn take_turns(turn: &AtomicUsize, index: usize) {
    const TURNS: usize = 100;

    for own in (index..TURNS).step_by(2) {
        while turn.load(Ordering::Acquire) != own {
            hint::spin_loop();
        }
        turn.store(own + 1, Ordering::Release);
    }
}
