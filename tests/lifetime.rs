//! How long a worker lives, how often it is used, and what the pool knows of it.

mod common;

use std::time::Duration;

use sfo_pool::PoolErrorCode::InvalidConfig;
use sfo_pool::PoolOptions;
use tokio::time::advance;

use common::*;

const NANO: Duration = Duration::from_nanos(1);

/// Each worker lives exactly so long.
fn living(max: u16, lifetime: Duration) -> Setup {
    jittered(max, lifetime, Some(Duration::ZERO))
}

fn jittered(max: u16, lifetime: Duration, jitter: Option<Duration>) -> Setup {
    Setup::max(max).with(|options| {
        let options = options.with_max_lifetime(Some(lifetime));
        match jitter {
            Some(jitter) => options.with_max_lifetime_jitter(jitter),
            None => options,
        }
    })
}

fn used_up(max: u16, count: u64) -> Setup {
    Setup::max(max).with(|options| options.with_max_use_count(Some(count)))
}

laws! {
    async fn one_that_is_too_old_is_destroyed_when_it_is_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = living(1, secs(10)).open::<P>();
        let holder = pool.get().expect_worker();
        advance(secs(10) - NANO).await;
        drop(holder);
        let holder = pool.get().expect_worker();
        advance(NANO).await;
        let waiter = &mut wait(1, || pool.get())[0];
        assert_eq!((pool.cleanup(), factory.destroyed()), (0, 0), "it is never taken away");
        drop(holder);
        assert_eq!(factory.destroyed(), 1);
        let new = waiter.expect_worker();
        drop(new);
        assert_eq!((pool.get().expect_worker().id(), factory.calls()), (1, 2));
    }

    async fn one_that_is_too_old_is_not_reused<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = living(2, secs(10)).open::<P>();
        let old = pool.get().expect_worker();
        advance(secs(5)).await;
        drop((pool.get().expect_worker(), old));
        advance(secs(5) - NANO).await;
        drop(pool.get().expect_worker());
        assert_eq!(factory.calls(), 2);
        advance(NANO).await;
        assert_eq!(pool.get().expect_worker().id(), 1, "the younger one");
        assert_eq!((factory.destroyed(), pool.status().total), (1, 1));
        advance(secs(5)).await;
        assert_eq!(pool.get().expect_worker().id(), 2);
    }

    async fn a_cleanup_destroys_those_that_are_too_old_wherever_they_lie<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
            let (pool, factory) = living(3, secs(10)).open::<P>();
            let mut guards = vec![Some(pool.get().expect_worker())];
            advance(secs(5)).await;
            guards.extend(pool.take(2).into_iter().map(Some));
            order.iter().for_each(|&id| drop(guards[id].take()));
            advance(secs(5) - NANO).await;
            assert_eq!(pool.cleanup(), 0);
            advance(NANO).await;
            assert_eq!((pool.cleanup(), factory.live(), pool.status().idle), (1, 2, 2));
            let mru = order.into_iter().rev().find(|&id| id != 0).unwrap();
            assert_eq!(pool.get().expect_worker().id(), mru);
            advance(secs(5)).await;
            assert_eq!((pool.cleanup(), pool.cleanup(), factory.live()), (2, 0, 0));
        }
    }

    async fn each_worker_has_a_time_of_its_own_within_the_jitter<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for (jitter, shortest) in [(None, 90), (Some(secs(50)), 50), (Some(Duration::MAX), 0)] {
            let setup = jittered(200, secs(100), jitter).max_creations(200);
            let (pool, factory) = setup.open::<P>();
            drop(pool.take(200));
            let (mut removed, mut ends, mut last) = (0, 0, 0);
            for second in 1..=100 {
                advance(secs(1)).await;
                let count = pool.cleanup();
                assert!(second >= shortest || count == 0, "{count} at {second}");
                (removed, ends, last) = (removed + count, ends + usize::from(count > 0), count);
            }
            assert_eq!((removed, factory.live()), (200, 0));
            assert!(ends > 4 && last < 200, "{ends} ends");
        }
    }

    async fn without_jitter_they_end_together<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = living(20, secs(100)).open::<P>();
        drop(pool.take(20));
        advance(secs(100) - NANO).await;
        assert_eq!(pool.cleanup(), 0);
        advance(NANO).await;
        assert_eq!(pool.cleanup(), 20);
    }

    async fn no_lifetime_lasts_for_one_use_and_the_longest_for_ever<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = living(1, Duration::ZERO).open::<P>();
        for id in 0..3 {
            assert_eq!(pool.get().expect_worker().id(), id);
            assert_eq!(factory.live(), 0);
        }
        for jitter in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            let (pool, factory) = jittered(1, Duration::MAX, jitter).open::<P>();
            drop(pool.get().expect_worker());
            advance(secs(100 * 31_557_600)).await;
            assert_eq!(pool.cleanup(), 0);
            drop(pool.get().expect_worker());
            assert_eq!((pool.get().expect_worker().id(), factory.calls()), (0, 1));
        }
    }

    async fn a_worker_is_destroyed_after_its_last_use<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = used_up(1, 3).open::<P>();
        for round in 0..3 {
            for use_count in 1..=3 {
                let guard = pool.get().expect_worker();
                assert_eq!((guard.id(), P::info(&guard).unwrap().use_count), (round, use_count));
            }
            assert_eq!(factory.destroyed(), round + 1);
        }
        let (pool, factory) = used_up(1, u64::MAX).open::<P>();
        (0..100).for_each(|_| drop(pool.get().expect_worker()));
        assert_eq!(factory.calls(), 1);
    }

    async fn a_use_from_hand_to_hand_is_a_use<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = used_up(1, 2).open::<P>();
        let first = pool.get().expect_worker();
        let mut waiters = wait(3, || pool.get());
        drop(first);
        let second = waiters[0].expect_worker();
        assert_eq!((second.id(), P::info(&second).unwrap().use_count), (0, 2));
        drop(second);
        assert_eq!(factory.destroyed(), 1);
        drop(waiters[1].expect_worker());
        assert_eq!((waiters[2].expect_worker().id(), factory.calls()), (1, 2));
    }

    async fn a_worker_that_was_handed_over_and_not_collected_was_not_used<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = used_up(1, 2).open::<P>();
        let first = pool.get().expect_worker();
        let waiters = wait(5, || pool.get());
        drop(first);
        drop(waiters);
        assert_eq!((pool.status().idle, factory.destroyed()), (1, 0));
        let second = pool.get().expect_worker();
        assert_eq!((second.id(), P::info(&second).unwrap().use_count), (0, 2));
        drop(second);
        assert_eq!(factory.destroyed(), 1);
    }

    async fn a_worker_that_can_never_be_used_is_reported_by_name<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = used_up(1, 0).open::<P>();
        let error = pool.get().expect_error();
        assert_eq!((error.code(), factory.calls()), (InvalidConfig, 0));
        assert!(error.msg().contains("pool max_use_count is zero"), "{}", error.msg());
    }

    async fn a_pool_knows_its_workers_if_an_option_asks_for_it<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let knows: [fn(PoolOptions) -> PoolOptions; 3] = [
            |options| options.with_worker_info(true),
            |options| options.with_max_lifetime(Some(secs(1000))),
            |options| options.with_max_use_count(Some(1000)),
        ];
        for knows in knows {
            let (pool, factory) = Setup::max(2).with(knows).open::<P>();
            factory.gate();
            let mut call = pool.get();
            call.expect_pending();
            advance(secs(7)).await;
            factory.end(Outcome::Worker);
            factory.open_gate();
            let guard = call.expect_worker();
            let info = P::info(&guard).unwrap();
            assert_eq!((info.age, info.borrowed_for, info.use_count), (secs(0), secs(0), 1));
            advance(secs(3)).await;
            let info = P::info(&guard).unwrap();
            assert_eq!((info.age, info.borrowed_for), (secs(3), secs(3)));
            drop(guard);
            advance(secs(2)).await;
            let guard = pool.get().expect_worker();
            advance(secs(1)).await;
            let again = P::info(&guard).unwrap();
            assert_eq!((again.age, again.borrowed_for, again.use_count), (secs(6), secs(1), 2));
            assert_eq!(again.id, info.id);
        }
        let (pool, _factory) = Setup::max(1).open::<P>();
        assert_eq!(P::info(&pool.get().expect_worker()), None);
    }

    async fn a_worker_that_waits_to_be_collected_is_not_borrowed_yet<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let setup = Setup::max(1).with(|options| options.with_worker_info(true));
        let (pool, _factory) = setup.open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        drop(holder);
        advance(secs(4)).await;
        let guard = waiter.expect_worker();
        advance(secs(1)).await;
        assert_eq!(P::info(&guard).unwrap().borrowed_for, secs(1));
    }

    async fn no_two_workers_have_the_same_id<P: TestPool>() on General, Keyed, Classified, Any {
        let mut ids = Vec::new();
        for _ in 0..3 {
            let setup = Setup::max(5).with(|options| options.with_worker_info(true));
            let (pool, factory) = setup.open::<P>();
            for _ in 0..2 {
                let guards = pool.take(5);
                ids.extend(guards.iter().map(|guard| P::info(guard).unwrap().id));
                guards.iter().for_each(|guard| guard.state.kill());
            }
            assert_eq!(factory.destroyed(), 10);
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), count), (30, 30));
    }
}
