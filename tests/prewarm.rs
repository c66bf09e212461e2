//! Workers may be created before anybody asks: in the classified pool of whatever class the factory
//! chooses, so it takes part as `Any`.

mod common;

use sfo_pool::PoolErrorCode::{Cleared, Closed, Failed, InvalidConfig};

use tokio::time::advance;

use common::*;

laws! {
    async fn so_many_workers_are_there_before_anybody_asks<P: TestPool>()
        on General, Keyed, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 2);
        assert_eq!((pool.status().idle, pool.status().total), (2, 2));
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 0, "they are there");
        let _held = pool.take(2);
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 0, "borrowed ones count");
        assert_eq!(factory.created(), 2);
    }

    async fn what_has_expired_does_not_count<P: TestPool>() on General, Keyed, Any {
        let (pool, factory) = Setup::max(3).idle_timeout(10).open::<P>();
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 2);
        advance(secs(10)).await;
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 2);
        assert_eq!((factory.created(), factory.destroyed()), (4, 2));
        assert!(pool.try_get().unwrap().is_some());
    }

    async fn no_limit_is_exceeded<P: TestPool>() on General, Keyed, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        assert_eq!(pool.prewarm(10).expect_ready().unwrap(), 2);
        assert_eq!(factory.peak(), 2);
    }

    async fn an_error_ends_it_and_what_was_created_stays<P: TestPool>()
        on General, Keyed, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        factory.next(Outcome::Worker);
        factory.next(Outcome::Error("down"));
        let error = pool.prewarm(3).expect_ready().unwrap_err();
        assert_eq!((error.code(), error.msg()), (Failed, "down"));
        assert_eq!((pool.status().idle, pool.status().total), (1, 1));
    }

    async fn a_worker_that_was_created_in_advance_serves_who_waits_by_then<P: TestPool>()
        on General, Keyed, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut prewarm = pool.prewarm(1);
        prewarm.expect_pending();
        let mut waiter = wait(1, || pool.get()).remove(0);
        factory.end(Outcome::Worker);
        assert_eq!(prewarm.expect_ready().unwrap(), 1);
        drop(waiter.expect_worker());
        assert_eq!(factory.calls(), 1);
    }

    async fn nobody_who_waits_is_passed<P: TestPool>() on General, Keyed, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let held = pool.get().expect_worker();
        let _waiter = wait(1, || pool.get());
        assert_eq!(pool.prewarm(5).expect_ready().unwrap(), 0);
        drop(held);
        assert_eq!(factory.created(), 1);
    }

    async fn dropping_it_leaves_a_free_slot<P: TestPool>() on General, Keyed, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut prewarm = pool.prewarm(1);
        prewarm.expect_pending();
        drop(prewarm);
        assert_eq!(pool.status().total, 0);
        factory.open_gate();
        drop(pool.get().expect_worker());
    }

    async fn a_clear_or_the_end_refuses_it<P: TestPool>() on General, Keyed, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let mut prewarm = pool.prewarm(1);
        prewarm.expect_pending();
        let mut clear = pool.clear();
        clear.expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(prewarm.expect_ready().unwrap_err().code(), Cleared);
        clear.expect_ready();
        pool.close().expect_ready();
        assert_eq!(pool.prewarm(1).expect_ready().unwrap_err().code(), Closed);
        let (pool, _factory) = Setup::max(0).open::<P>();
        assert_eq!(pool.prewarm(1).expect_ready().unwrap_err().code(), InvalidConfig);
    }

    async fn what_was_created_in_advance_has_not_been_used<P: TestPool>()
        on General, Keyed, Any
    {
        let setup = Setup::max(1).with(|options| options.with_max_use_count(Some(1)));
        let (pool, factory) = setup.open::<P>();
        pool.prewarm(1).expect_ready().unwrap();
        assert_eq!(pool.status().idle, 1);
        let worker = pool.get().expect_worker();
        assert_eq!((worker.id(), P::info(&worker).unwrap().use_count), (0, 1));
        drop(worker);
        assert_eq!(factory.destroyed(), 1);
    }
}

laws! {
    async fn nothing_is_created_that_could_not_stay_idle<P: TestPool>() on General, Keyed {
        for (max_idle, created) in [(2, 2), (0, 0)] {
            let (pool, factory) = Setup::max(8).max_idle(max_idle).open::<P>();
            assert_eq!(pool.prewarm(5).expect_ready().unwrap(), created);
            assert_eq!((factory.created(), factory.destroyed()), (created, 0));
        }
    }

    async fn it_ends_even_if_what_it_creates_is_too_old_at_once<P: TestPool>()
        on General, Keyed, Any
    {
        let setup = Setup::max(8).with(|options| options.with_max_lifetime(Some(secs(0))));
        let (pool, factory) = setup.open::<P>();
        assert_eq!(pool.prewarm(2).expect_ready().unwrap(), 2);
        assert_eq!(factory.created(), 2);
    }
}

#[test]
fn a_key_is_warmed_on_its_own() {
    watched(|| async {
        let (Keyed(pool), factory) = Setup::max(2).open::<Keyed>();
        assert_eq!(
            Call::new({
                let pool = pool.clone();
                async move { pool.prewarm(7, 2).await }
            })
            .expect_ready()
            .unwrap(),
            2
        );
        assert_eq!((pool.status_of(7).idle, pool.status_of(ONE).total), (2, 0));
        assert_eq!(factory.live_of(7), 2);
    });
}
