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
fn a_warm_pool_allocates_nothing() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<General>();
        drop(pool.get().expect_worker());
        let info = measure(|| {
            for _ in 0..10 {
                let get = pin!(pool.0.get_worker());
                assert!(get.poll(&mut Context::from_waker(Waker::noop())).is_ready());
            }
        });
        assert_eq!(info.count_total, 0);
    });
}
