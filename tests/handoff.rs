//! A freed worker or slot reaches whoever waits for it, and nobody else.

mod common;

use common::*;

laws! {
    /// LW-2, CX-2
    async fn what_a_cancelled_waiter_was_handed_goes_to_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut a = pool.get();
        let mut b = pool.get();
        a.expect_pending();
        b.expect_pending();

        drop(holder);
        assert!(a.is_woken() && !b.is_woken(), "the oldest is woken, and it alone");
        drop(a);
        assert!(b.is_woken());
        let guard = b.expect_worker();
        assert_eq!((guard.id(), factory.calls(), factory.destroyed()), (0, 1, 0));
    }

    /// FR-3
    async fn waiters_are_served_first_come_first_served<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let mut holder = Some(pool.get().expect_worker());
        let mut waiters: Vec<_> = (1..=5).map(|number| (number, pool.get())).collect();
        waiters.iter_mut().for_each(|(_, call)| call.expect_pending());
        waiters.retain(|(number, _)| ![2, 4].contains(number));

        let mut served = Vec::new();
        while !waiters.is_empty() {
            drop(holder.take());
            let woken = waiters.iter().position(|(_, call)| call.is_woken()).expect("one wakes");
            let (number, mut call) = waiters.remove(woken);
            holder = Some(call.expect_worker());
            served.push(number);
            assert!(waiters.iter().all(|(_, call)| !call.is_woken()), "nobody else wakes");
        }
        assert_eq!(served, [1, 3, 5]);
    }
}
