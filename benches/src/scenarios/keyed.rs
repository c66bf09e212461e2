use std::sync::Arc;
use std::time::{Duration, Instant};

use super::warm::{GETS_SIDE_BY_SIDE, side_by_side};
use crate::contenders::{ByKey, Contender, Deadpool, KD, Keyed, PUBLISHED, ours, published};
use crate::harness::{Case, Harness, Sample};
use crate::limits::{BareKeyed, BarePool};
use crate::players;
use crate::stage::{Crowd, Stage};
use crate::worker::Setup;

pub fn warm(harness: &mut Harness) {
    for keys in harness.pick([1, 100, 100_000], [1, 100, 10_000]) {
        let gets = harness.pick(100_000, 20_000);
        let at_most = if keys <= 100 { 0.45 } else { 0.75 };
        let case = Case::new("S6a").with_size(keys, "keys").with_target_beside(PUBLISHED, at_most);
        let players = players![round(keys, gets):
            ours::Keyed, published::Keyed, ByKey<Deadpool>, BareKeyed];
        harness.measure(case, players);
    }
}

fn round<P: Keyed>(keys: usize, gets: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(&Setup::new(4));
    stage.play(get_and_drop(&*pool, 0, keys, keys)).expect("enough time to create them");
    move || {
        let time = stage.play(get_and_drop(&*pool, 0, keys, gets))?;
        Some(Sample::of_each(time, gets))
    }
}

/// A prime, so that neighbours in time are no neighbours in memory, and every key has its turn.
const STRIDE: usize = 7_919;

async fn get_and_drop<P: Keyed>(pool: &P, first: usize, keys: usize, gets: usize) -> Duration {
    let start = Instant::now();
    for get in 0..gets {
        let key = first + get * STRIDE % keys;
        drop(pool.get(key as u64).await.expect("a worker"));
    }
    start.elapsed()
}

pub fn beside_waiters(harness: &mut Harness) {
    for &waiters in harness.pick(&[100, 1_000, 10_000][..], &[100, 10_000]) {
        let gets = harness.pick(1_000, 100);
        let case = Case::new("S6b").with_size(waiters, "waiters").with_target_beside(KD, 1.0);
        let players = players![round_beside_waiters(waiters, gets):
            ours::Keyed, published::Keyed, ByKey<Deadpool>, ByKey<BarePool>];
        harness.measure(case, players);
    }
}

const WAITED_FOR: usize = 100;

fn round_beside_waiters<P: Keyed>(waiters: usize, gets: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(&Setup::new(1));
    let queue = stage.play(queue_up(&pool, WAITED_FOR, waiters)).expect("enough time to queue");
    move || {
        // They wait as long as the rounds go on.
        let Queue { workers, .. } = &queue;
        assert_eq!(workers.len(), WAITED_FOR);
        let time = stage.play(get_and_drop(&*pool, WAITED_FOR, 1, gets))?;
        Some(Sample::of_each(time, gets))
    }
}

/// Tasks that wait for workers which are out.
pub struct Queue<P: Contender> {
    pub workers: Vec<P::Guard>,
    pub crowd: Crowd,
}

/// Borrows the workers of the first keys, and lets tasks wait for them.
pub async fn queue_up<P: Keyed>(pool: &Arc<P>, keys: usize, waiters: usize) -> Queue<P> {
    let mut workers = Vec::with_capacity(keys);
    for key in 0..keys {
        workers.push(pool.get(key as u64).await.expect("a worker"));
    }
    let crowd = Crowd::new(waiters);
    for waiter in 0..waiters {
        let (pool, crowd) = (Arc::clone(pool), crowd.clone());
        let key = waiter % keys;
        tokio::spawn(async move {
            drop(crowd.request(pool.get(key as u64)).await.expect("a worker"));
            crowd.leave();
        });
    }
    crowd.gathered().await;
    Queue { workers, crowd }
}

pub fn drain(harness: &mut Harness) {
    let (waiters, keys) = harness.pick((20_000, 2_000), (2_000, 200));
    let case = Case::new("S6c").with_size(waiters, "waiters").with_target_beside(KD, 1.0);
    let players = players![round_of_draining(waiters, keys):
        ours::Keyed, published::Keyed, ByKey<Deadpool>, ByKey<BarePool>];
    harness.measure(case, players);
}

fn round_of_draining<P: Keyed>(waiters: usize, keys: usize) -> impl FnMut() -> Option<Sample> {
    let stage = Stage::new(1);
    let pool = stage.pool::<P>(&Setup::new(1));
    move || {
        let time = stage.play(async {
            let Queue { workers, crowd } = queue_up(&pool, keys, waiters).await;
            let start = Instant::now();
            drop(workers);
            crowd.dispersed().await;
            start.elapsed()
        })?;
        Some(Sample::of_each(time, waiters))
    }
}

pub fn two_threads(harness: &mut Harness) {
    let case = Case::new("S6d").with_threads(2).with_target_beside(KD, 1.0);
    let players = players![round_of_two():
        ours::Keyed, published::Keyed, ByKey<Deadpool>, BareKeyed];
    harness.measure(case, players);
}

fn round_of_two<P: Keyed>() -> impl FnMut() -> Option<Sample> {
    /// Several each, for two might share what they need not by mere chance.
    const KEYS: usize = 64;

    let stage = Stage::new(2);
    let pool = stage.pool::<P>(&Setup::new(4));
    move || {
        let time = stage.play(side_by_side(|index| {
            let pool = Arc::clone(&pool);
            async move {
                get_and_drop(&*pool, index * KEYS, KEYS, GETS_SIDE_BY_SIDE).await;
            }
        }))?;
        Some(Sample::of_each(time, 2 * GETS_SIDE_BY_SIDE))
    }
}
