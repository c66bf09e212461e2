//! What a pool keeps in memory, and what it allocates.

mod common;

use std::pin::pin;
use std::task::{Context, Waker};

use allocation_counter::measure;
use common::*;

laws! {
    /// D4, CX-1
    async fn cancelled_waiters_leave_no_memory_behind<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let _holder = pool.get().expect_worker();
        let info = measure(|| drop(wait(20_000, || pool.get())));
        assert!(info.bytes_current < 4096, "{info:?}");
    }

    /// D28
    async fn a_new_pool_reserves_nothing_for_its_limits<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let size = |max| measure(|| drop(Setup::max(max).max_idle(max).open::<P>())).bytes_max;
        assert_eq!(size(u16::MAX), size(1));
    }
}

#[test]
fn a_warm_get_and_drop_allocate_nothing_however_many_are_idle() {
    watched(|| async {
        for idle in 1..=200 {
            let general = with_idle::<General>(Setup::default(), idle).0;
            let keyed = with_idle::<Keyed>(Setup::default().idle_timeout(10), idle).0;
            let classified = with_idle::<Classified>(Setup::default(), idle).0;
            let allocations = [
                allocations(|| general.get_worker()),
                allocations(|| keyed.get_worker(ONE)),
                allocations(|| classified.get_classified_worker(ONE)),
                allocations(|| classified.get_worker()),
            ];
            assert_eq!(allocations, [0; 4], "{idle} idle");
        }
    });
}

fn with_idle<P: TestPool>(setup: Setup, idle: usize) -> P {
    let (pool, _factory) = setup.open::<P>();
    drop(pool.take(idle));
    pool
}

/// How often getting and dropping a worker allocates, ten times in a row.
fn allocations<G: Future>(get: impl Fn() -> G) -> u64 {
    let info = measure(|| {
        for _ in 0..10 {
            let get = pin!(get());
            assert!(get.poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
    });
    info.count_total
}
