//! Counts bytes and allocations, on one thread. A program of its own, for the allocator that counts
//! takes time.

use std::hint::black_box;
use std::task::{Context, Waker};

use allocation_counter::{AllocationInfo, measure};
use sfo_pool_benches::contenders::{
    Bb8, ByKey, Classified, Deadpool, Keyed, Plain, ours, published,
};
use sfo_pool_benches::limits::{BareClassified, BareKeyed, BarePool};
use sfo_pool_benches::worker::Setup;
use tokio::runtime::{Builder, Runtime};

const MANY: usize = 10_000;
const CANCELLED: usize = 100_000;
const GETS: usize = 1_000;

fn main() {
    println!("| memory | ours | 0.4.1 | deadpool | bb8 | limit | target |");
    println!("|---|---:|---:|---:|---:|---:|---|");
    let figures = [
        plain::<ours::Plain>(),
        plain::<published::Plain>(),
        plain::<Deadpool>(),
        plain::<Bb8>(),
        plain::<BarePool>(),
    ];
    row("bytes of an empty pool of 16", figures.map(|figures| figures.empty), Some(1_024.0));
    row("bytes of an idle worker", figures.map(|figures| figures.idle), Some(40.0));
    row("bytes of a get's future", figures.map(|figures| figures.future), None);
    row("bytes of a waiter beside it", figures.map(|figures| figures.waiter), Some(200.0));
    row(
        "bytes that a cancelled waiter leaves",
        figures.map(|figures| figures.cancelled),
        Some(0.0),
    );
    row("allocations of a warm get + drop", figures.map(|figures| figures.allocations), Some(0.0));

    let keyed = [
        keyed::<ours::Keyed>().into(),
        keyed::<published::Keyed>().into(),
        keyed::<ByKey<Deadpool>>().into(),
        None,
        keyed::<BareKeyed>().into(),
    ];
    row("bytes of a key with an idle worker", keyed.map(|keyed| Some(keyed?.key)), Some(200.0));
    row("allocations, keyed", keyed.map(|keyed| Some(keyed?.allocations)), Some(0.0));

    let classified = [
        classified::<ours::Classified>().into(),
        classified::<published::Classified>().into(),
        None,
        None,
        classified::<BareClassified>().into(),
    ];
    row("allocations, classified", classified, Some(0.0));
}

fn row(title: &str, figures: [impl Into<Option<f64>> + Copy; 5], target: Option<f64>) {
    let figures = figures.map(Into::into);
    let cells =
        figures.map(|figure| figure.map_or_else(|| "–".to_owned(), |it| format!("{it:.1}")));
    let verdict = target.zip(figures[0]).map_or_else(String::new, |(target, ours)| {
        // Less than a tenth is not shown, and belongs to what there is only once.
        let is_met = ours < target + 0.05;
        format!("≤ {target}: {}", if is_met { "met" } else { "**missed**" })
    });
    println!("| {title} | {} | {verdict} |", cells.join(" | "));
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("it needs nothing special")
}

fn each(bytes: i64, count: usize) -> f64 {
    bytes as f64 / count as f64
}

#[derive(Clone, Copy)]
struct PlainFigures {
    empty: f64,
    idle: f64,
    future: f64,
    waiter: f64,
    cancelled: f64,
    allocations: f64,
}

fn plain<P: Plain>() -> PlainFigures {
    let runtime = runtime();
    let _context = runtime.enter();
    let new = |max_count| P::new(&Setup::new(max_count));

    // What all pools share is there once.
    drop(new(16));
    let mut pool = None;
    let empty = measure(|| pool = Some(new(16)));

    let mut pool = None;
    let idle = measure(|| {
        let pool = pool.insert(new(MANY));
        runtime.block_on(async {
            let mut workers = Vec::with_capacity(MANY);
            for _ in 0..MANY {
                workers.push(pool.get().await.expect("a worker"));
            }
        });
    });
    let allocations = allocations(measure(|| {
        let pool = pool.as_ref().expect("it was made above");
        runtime.block_on(async {
            for _ in 0..GETS {
                drop(pool.get().await.expect("a worker"));
            }
        });
    }));

    let pool = new(1);
    let worker = runtime.block_on(pool.get()).expect("a worker");
    let future = size_of_val(&pool.get());
    let waiter = {
        let mut requests: Vec<_> = (0..MANY).map(|_| Box::pin(pool.get())).collect();
        measure(|| poll_each(&mut requests))
    };
    let cancelled = measure(|| {
        let mut requests: Vec<_> = (0..CANCELLED).map(|_| Box::pin(pool.get())).collect();
        poll_each(&mut requests);
    });
    drop(worker);

    PlainFigures {
        empty: each(empty.bytes_current, 1),
        idle: each(idle.bytes_current, MANY),
        future: future as f64,
        waiter: each(waiter.bytes_current, MANY),
        cancelled: each(cancelled.bytes_current, CANCELLED),
        allocations,
    }
}

fn poll_each<T>(requests: &mut [std::pin::Pin<Box<impl Future<Output = T>>>]) {
    let mut context = Context::from_waker(Waker::noop());
    for request in requests {
        assert!(request.as_mut().poll(&mut context).is_pending());
    }
}

fn allocations(info: AllocationInfo) -> f64 {
    info.count_total as f64 / GETS as f64
}

#[derive(Clone, Copy)]
struct KeyedFigures {
    key: f64,
    allocations: f64,
}

fn keyed<P: Keyed>() -> KeyedFigures {
    let runtime = runtime();
    let setup = Setup::new(4);
    let pool = P::new(&setup);
    let get_each = |count: usize| {
        runtime.block_on(async {
            for key in 0..count {
                drop(black_box(pool.get(key as u64).await.expect("a worker")));
            }
        });
    };
    let key = measure(|| get_each(MANY));
    let allocations = allocations(measure(|| get_each(GETS)));
    KeyedFigures { key: each(key.bytes_current, MANY), allocations }
}

fn classified<P: Classified>() -> f64 {
    let runtime = runtime();
    let pool = P::new(&Setup::new(GETS));
    let get_each = || {
        runtime.block_on(async {
            for class in 0..GETS {
                drop(pool.get(class as u64).await.expect("a worker"));
            }
        });
    };
    get_each();
    allocations(measure(get_each))
}
