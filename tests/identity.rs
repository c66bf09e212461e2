//! A worker is what it was created as, a key or a class, or it is not used.

mod common;

use std::sync::atomic::Ordering::SeqCst;

use common::*;
use sfo_pool::PoolErrorCode;

laws! {
    async fn a_new_worker_of_another_key_than_asked_for_is_refused<P: TestPool>()
        on Keyed, Classified
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut waiters = wait(2, || pool.get());
        factory.end(Outcome::WorkerOf(2));
        waiters.remove(0).expect_code(PoolErrorCode::InvalidConfig);
        assert_eq!((factory.created(), factory.live()), (1, 0));
        waiters[0].expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(waiters.remove(0).expect_worker().id(), 1);
    }

    async fn a_new_worker_that_denies_its_key_is_refused<P: TestPool>()
        on Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut asker = pool.get();
        asker.expect_pending();
        let mut next = pool.get();
        next.expect_pending();
        let maker = factory.clone();
        factory.on(Callback::Names, move |id| maker.worker(id).deny_own());
        factory.end(Outcome::Worker);
        asker.expect_code(PoolErrorCode::InvalidConfig);
        assert_eq!((factory.created(), factory.live()), (1, 0));

        factory.no_longer_on(Callback::Names);
        next.expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(next.expect_worker().id(), 1);
    }

    async fn a_worker_that_changed_or_denies_its_key_while_idle_is_destroyed<P: TestPool>()
        on Keyed, Classified, Any
    {
        let ways: [fn(&WorkerState); 2] = [|state| state.change_key(9), WorkerState::deny_own];
        for spoil in ways {
            let (pool, factory) = Setup::max(1).open::<P>();
            drop(pool.get().expect_worker());
            spoil(&factory.worker(0));
            let _guard = pool.get().expect_worker();
            assert!(factory.worker(0).is_destroyed.load(SeqCst));
            assert_eq!((factory.calls(), factory.live()), (2, 1));
        }
    }
}
