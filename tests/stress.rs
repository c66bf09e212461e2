//! Everything at the same time, on several threads, with a ledger that is not the pool's.
//!
//! The seed of a run is printed and repeats its choices, though not its interleaving:
//!
//! ```text
//! SFO_POOL_STRESS_SEED=42 SFO_POOL_STRESS_ROUNDS=100000 cargo test --release --test stress
//! ```

mod common;

use std::fmt::Debug;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::*;
use sfo_pool::PoolErrorCode;

const THREADS: u64 = 4;
const LIMIT: u16 = 3;
/// How long a run may stand still.
const PATIENCE: Duration = Duration::from_secs(60);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Waits for a call in a thread that has nothing else to do, but gives up now and then.
fn wait_or_give_up<T>(mut call: Call<T>, dice: &mut Dice) -> Option<T> {
    loop {
        match call.poll() {
            Poll::Ready(value) => return Some(value),
            Poll::Pending if dice.roll(50) == 0 => return None,
            Poll::Pending => thread::yield_now(),
        }
    }
}

fn act<P: TestPool>(pool: &P, factory: &Factory, dice: &mut Dice) {
    match dice.roll(40) {
        0 => drop(wait_or_give_up(pool.clear(), dice)),
        1 => drop(pool.cleanup()),
        2 => drop(pool.get()),
        3 => factory.next(Outcome::Error("down")),
        4 => factory.next(Outcome::Panic("on purpose")),
        _ => {
            let Some(result) = wait_or_give_up(pool.get(), dice) else { return };
            match result {
                Ok(guard) => {
                    if dice.roll(5) == 0 {
                        guard.state.kill();
                    }
                    if dice.roll(3) == 0 {
                        thread::yield_now();
                    }
                }
                Err(error) => assert!(
                    matches!(
                        error.code(),
                        PoolErrorCode::Failed | PoolErrorCode::Cleared | PoolErrorCode::Clearing
                    ),
                    "{error}"
                ),
            }
        }
    }
}

/// One thread's part. A panic on purpose ends one action, not the thread.
fn work<P: TestPool>(pool: &P, factory: &Factory, seed: u64, rounds: u64) {
    let mut dice = Dice::new(seed);
    for _ in 0..rounds {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            act(pool, factory, &mut dice);
        }));
        if let Err(panic) = outcome {
            if panic.downcast_ref::<String>().map(String::as_str) != Some("on purpose") {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

fn stress<P: TestPool + Debug>() {
    run::<P>(Setup::max(LIMIT));
    run::<P>(Setup::max(LIMIT).idle_timeout(0));
}

fn run<P: TestPool + Debug>(setup: Setup) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = setting("SFO_POOL_STRESS_SEED").unwrap_or(now.as_nanos() as u64 | 1);
    let rounds = setting("SFO_POOL_STRESS_ROUNDS").unwrap_or(3_000);
    println!("SFO_POOL_STRESS_SEED={seed}");

    let (pool, factory) = setup.open::<P>();
    let (done, is_done) = mpsc::channel();
    let threads: Vec<_> = (1..=THREADS)
        .map(|number| {
            let (pool, factory, done) = (pool.clone(), factory.clone(), done.clone());
            thread::spawn(move || {
                work(&pool, &factory, seed.wrapping_mul(2 * number + 1), rounds);
                let _ = done.send(());
            })
        })
        .collect();
    drop(done);
    for _ in 0..THREADS {
        if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            panic!("seed {seed} hangs: {pool:?}, {} workers live", factory.live());
        }
    }
    for thread in threads {
        thread.join().expect("nothing panics but on purpose");
    }

    assert!(factory.peak() <= usize::from(LIMIT), "seed {seed}: {} lived", factory.peak());
    factory.forget_script();
    let guards = pool.take(LIMIT.into());
    pool.get().expect_pending();
    assert_eq!(factory.live(), LIMIT.into(), "seed {seed}");
    drop(guards);
    drop(pool);
    assert_eq!(factory.live(), 0, "seed {seed}");
}

#[test]
fn general() {
    stress::<General>();
}

#[test]
fn keyed() {
    stress::<Keyed>();
}

#[test]
fn classified() {
    stress::<Classified>();
}

#[test]
fn any() {
    stress::<Any>();
}
