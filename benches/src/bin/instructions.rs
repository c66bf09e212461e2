//! Gets and drops as often as it is told to, for a tool that counts instructions; the script
//! `instructions` runs it twice and takes the difference. The requests are always served at once,
//! so that it needs no runtime, whose work would be counted too.

use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};

use sfo_pool_benches::contenders::{Classified, Deadpool, Keyed, Plain, ours, published};
use sfo_pool_benches::limits::{BareClassified, BareKeyed, BarePool};
use sfo_pool_benches::worker::Setup;

/// Classes in turn, each with one idle worker; keys too.
const IDLE: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, pool, count] = &arguments[..] else { return usage() };
    let Ok(count) = count.parse() else { return usage() };
    match (scenario.as_str(), pool.as_str()) {
        ("S1", "ours") => plain::<ours::Plain>(count),
        ("S1", "published") => plain::<published::Plain>(count),
        ("S1", "deadpool") => plain::<Deadpool>(count),
        ("S1", "limit") => plain::<BarePool>(count),
        ("S6a", "ours") => keyed::<ours::Keyed>(count),
        ("S6a", "published") => keyed::<published::Keyed>(count),
        ("S6a", "limit") => keyed::<BareKeyed>(count),
        ("S7a", "ours") => classified::<ours::Classified>(count),
        ("S7a", "published") => classified::<published::Classified>(count),
        ("S7a", "limit") => classified::<BareClassified>(count),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: instructions S1|S6a|S7a ours|published|deadpool|limit COUNT");
    ExitCode::FAILURE
}

fn plain<P: Plain>(count: usize) {
    let pool = P::new(&Setup::new(16));
    for _ in 0..count {
        drop(at_once(pool.get()));
    }
}

fn keyed<P: Keyed>(count: usize) {
    let pool = P::new(&Setup::new(4));
    for get in 0..count {
        drop(at_once(pool.get((get % IDLE) as u64)));
    }
}

fn classified<P: Classified>(count: usize) {
    let pool = P::new(&Setup::new(IDLE));
    for get in 0..count {
        drop(at_once(pool.get((get % IDLE) as u64)));
    }
}

fn at_once<T, E>(request: impl Future<Output = Result<T, E>>) -> T {
    match pin!(request).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(worker)) => worker,
        Poll::Ready(Err(_)) | Poll::Pending => panic!("a worker is idle, or there is room"),
    }
}
