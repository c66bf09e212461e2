//! Which idle worker is reused, which one has to go, and when.

mod common;

use std::future::pending;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::time::advance;
use tokio_test::task;

use common::*;

async fn advance_secs(seconds: u64) {
    advance(Duration::from_secs(seconds)).await;
}

fn with_timeout(timeout: Duration) -> Setup {
    Setup { idle_timeout: Some(timeout), ..Setup::default() }
}

type Record = Arc<Mutex<Vec<(Callback, usize)>>>;

/// From now on writes down which workers are asked whether they are well, and which are destroyed.
fn record(factory: &Factory) -> Record {
    let record = Record::default();
    for callback in [Callback::IsWork, Callback::Drop] {
        let record = Arc::clone(&record);
        factory.on(callback, move |id| record.lock().unwrap().push((callback, id)));
    }
    record
}

fn take_down(record: &Record) -> Vec<(Callback, usize)> {
    std::mem::take(&mut record.lock().unwrap())
}

fn ids<P: TestPool>(guards: &[P::Guard]) -> Vec<usize> {
    guards.iter().map(|guard| guard.id()).collect()
}

/// Borrows three workers, and returns them in this order.
fn return_in_order<P: TestPool>(pool: &P, order: [usize; 3]) {
    let mut guards: Vec<_> = pool.take(3).into_iter().map(Some).collect();
    for id in order {
        drop(guards[id].take());
    }
}

laws! {
    /// ID-4
    async fn the_most_recently_returned_is_reused_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(3).open::<P>();
        return_in_order(&pool, [1, 0, 2]);
        assert_eq!(ids::<P>(&pool.take(3)), [2, 0, 1]);
    }

    /// ID-4
    async fn a_pool_shrinks_to_what_its_traffic_needs<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(5).idle_timeout(10).open::<P>();
        pool.take(5);
        for _ in 0..20 {
            advance_secs(3).await;
            pool.take(1);
        }
        assert_eq!((factory.calls(), factory.live()), (5, 1));
    }

    /// KY-8 (a)
    async fn beyond_the_idle_limit_the_least_recently_used_goes<P: TestPool>()
        on General, Keyed
    {
        let (pool, factory) = Setup::max(3).max_idle(2).open::<P>();
        return_in_order(&pool, [1, 0, 2]);
        assert!(factory.worker(1).is_destroyed.load(SeqCst));
        assert_eq!(factory.destroyed(), 1);
        assert_eq!(ids::<P>(&pool.take(2)), [2, 0]);
    }

    /// KY-8 (a)
    async fn the_idle_limit_counts_idle_workers_alone<P: TestPool>() on General, Keyed {
        let (pool, factory) = Setup::max(5).max_idle(2).open::<P>();
        let mut guards = pool.take(5);
        guards.truncate(3);
        assert_eq!(factory.destroyed(), 0, "two are kept while three are busy");
        drop(guards);
        assert_eq!(factory.destroyed(), 3);
        pool.take(5);
        assert_eq!(factory.calls(), 5 + 3);
    }

    /// KY-8 (a)
    async fn an_idle_limit_of_zero_keeps_nothing<P: TestPool>() on General, Keyed {
        let (pool, factory) = Setup::max(1).max_idle(0).open::<P>();
        pool.take(1);
        assert_eq!((factory.calls(), factory.destroyed()), (1, 1));

        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());
        drop(holder);
        let handed = waiters[0].expect_worker();
        assert_eq!(handed.id(), 1, "what somebody waits for is not idle");

        drop(handed);
        drop(waiters);
        assert_eq!((factory.calls(), factory.destroyed()), (2, 2));
        pool.take(1);
    }

    /// ST-5
    async fn without_an_idle_limit_all_are_kept<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::default().open::<P>();
        pool.take(100);
        pool.take(100);
        assert_eq!((factory.calls(), factory.destroyed()), (100, 0));
    }

    /// ID-1, ID-5 (a), ID-6
    async fn an_expired_worker_is_not_handed_out_whoever_comes_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for cleans_first in [true, false] {
            let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
            pool.take(1);
            advance_secs(10).await;

            if cleans_first {
                assert_eq!(pool.cleanup(), 1);
            }
            let guard = pool.get().expect_worker();
            assert_eq!(pool.cleanup(), 0);
            assert_eq!(guard.id(), 1);
            assert_eq!((factory.created(), factory.destroyed(), factory.peak()), (2, 1, 1));
        }
    }

    /// ID-1
    async fn a_worker_expires_when_its_time_is_up_and_not_before<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
        let almost = Duration::from_secs(10) - Duration::from_nanos(1);
        pool.take(1);
        advance(almost).await;
        assert_eq!(pool.cleanup(), 0);
        assert_eq!(ids::<P>(&pool.take(1)), [0], "and its time begins anew");
        advance(almost).await;
        assert_eq!(pool.cleanup(), 0);
        advance(Duration::from_nanos(1)).await;
        assert_eq!(pool.cleanup(), 1);
        assert_eq!(factory.calls(), 1);
    }

    /// ID-5
    async fn a_borrowed_worker_does_not_expire<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).idle_timeout(10).open::<P>();
        let guard = pool.get().expect_worker();
        advance_secs(100).await;
        assert_eq!(pool.cleanup(), 0);
        drop(guard);
        advance_secs(9).await;
        assert_eq!(ids::<P>(&pool.take(1)), [0]);
    }

    /// ID-3
    async fn clean_ups_alone_create_nothing<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        pool.take(2);
        for _ in 0..100 {
            advance_secs(10).await;
            pool.cleanup();
        }
        assert_eq!((factory.calls(), factory.destroyed()), (2, 2));
    }

    /// ID-5 (b): the pool has no task of its own.
    async fn what_has_expired_goes_with_the_next_call<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        pool.take(2);
        advance_secs(1000).await;
        assert_eq!(factory.destroyed(), 0);
        pool.take(1);
        assert_eq!(factory.destroyed(), 2);
    }

    /// ID-3
    async fn a_clean_up_counts_what_it_removes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).idle_timeout(10).open::<P>();
        let mut guards = pool.take(3);
        guards.truncate(1);
        advance_secs(5).await;
        drop(guards);

        let mut removed = Vec::new();
        for _ in 0..3 {
            removed.push(pool.cleanup());
            advance_secs(5).await;
        }
        removed.push(pool.cleanup());
        assert_eq!(removed, [0, 2, 1, 0]);
        assert_eq!(factory.live(), 0);
    }

    /// CK-1
    async fn a_timeout_beyond_all_clocks_never_comes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        const YEAR: u64 = 365 * 24 * 60 * 60;
        for timeout in [
            Duration::MAX,
            Duration::from_secs(u64::MAX),
            Duration::from_secs(YEAR << 30),
            Duration::from_nanos(u64::MAX),
            Duration::from_nanos(u64::MAX) + Duration::from_nanos(2),
        ] {
            let (pool, factory) = with_timeout(timeout).open::<P>();
            pool.take(1);
            advance_secs(100 * YEAR).await;
            assert_eq!(pool.cleanup(), 0);
            pool.take(1);
            assert_eq!(factory.calls(), 1);
        }
    }

    /// CK-2
    async fn a_timeout_longer_than_the_clock_has_run_is_not_up<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::default().idle_timeout(1 << 32).open::<P>();
        assert_eq!(pool.cleanup(), 0);
        pool.take(1);
        assert_eq!(pool.cleanup(), 0);
        pool.take(1);
        assert_eq!(factory.calls(), 1);
    }

    /// CK-2: the clock of a paused runtime is ahead of that of a thread outside.
    async fn a_clock_that_goes_back_is_taken_to_stand_still<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::default().idle_timeout(100_000).open::<P>();
        let mut guards = pool.take(2);
        guards.truncate(1);
        advance_secs(50_000).await;
        drop(guards);

        let outside = pool.clone();
        let back = thread::spawn(move || {
            assert_eq!(outside.cleanup(), 0);
            assert_eq!(ids::<P>(&outside.take(1)), [0]);
        });
        back.join().unwrap();
        advance_secs(50_000).await;
        assert_eq!(pool.cleanup(), 1, "the one that was returned first");
        assert_eq!(ids::<P>(&pool.take(1)), [0]);
        assert_eq!(factory.calls(), 2);
    }

    /// CK-4
    async fn a_timeout_of_zero_is_up_at_once<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).idle_timeout(0).open::<P>();
        pool.take(1);
        let guard = pool.get().expect_worker();
        assert_eq!((guard.id(), factory.peak()), (1, 1));

        let mut waiters = wait(1, || pool.get());
        drop(guard);
        assert_eq!(waiters[0].expect_worker().id(), 1, "what is handed on was never idle");
        assert_eq!(pool.cleanup(), 1);
        assert_eq!(pool.cleanup(), 0);
    }

    /// D25
    async fn a_request_takes_its_worker_before_expired_ones_go<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        use Callback::{Drop, IsWork};
        let (pool, factory) = Setup::max(3).idle_timeout(10).open::<P>();
        let mut guards = pool.take(3);
        let fresh = guards.pop();
        drop(guards);
        advance_secs(10).await;
        drop(fresh);

        let record = record(&factory);
        let guard = pool.get().expect_worker();
        assert_eq!(guard.id(), 2);
        assert_eq!(take_down(&record), [(IsWork, 2), (Drop, 0), (Drop, 1)]);
    }

    /// D25
    async fn a_request_takes_its_worker_before_dead_ones_go<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        use Callback::IsWork;
        let (pool, factory) = Setup::max(3).open::<P>();
        return_in_order(&pool, [0, 1, 2]);
        factory.worker(1).kill();
        factory.worker(2).kill();

        let record = record(&factory);
        let guard = pool.get().expect_worker();
        assert_eq!(guard.id(), 0);
        assert_eq!(take_down(&record)[..3], [(IsWork, 2), (IsWork, 1), (IsWork, 0)]);
        assert_eq!(factory.destroyed(), 2);
    }

    /// ST-2
    async fn one_request_walks_past_all_dead_workers_and_creates<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(5).open::<P>();
        pool.take(5);
        (0..5).for_each(|id| factory.worker(id).kill());

        let record = record(&factory);
        let guard = pool.get().expect_worker();
        assert_eq!(guard.id(), 5);
        let mut events = take_down(&record);
        events.retain(|&(callback, _)| callback == Callback::IsWork);
        let asked: Vec<_> = events.into_iter().map(|(_, id)| id).collect();
        assert_eq!(asked, [4, 3, 2, 1, 0], "each once");
        assert_eq!((factory.calls(), factory.destroyed(), factory.peak()), (6, 5, 5));
    }

    /// ST-2
    async fn a_worker_returned_while_a_dead_one_is_asked_is_reused<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        drop(guards.remove(1));
        factory.worker(1).kill();
        let held = Mutex::new(guards.pop());
        factory.on(Callback::IsWork, move |_| {
            let held = held.lock().unwrap().take();
            drop(held);
        });

        assert_eq!(ids::<P>(&pool.take(1)), [0]);
        assert_eq!((factory.calls(), factory.live()), (2, 1));
    }

    /// ST-2
    async fn the_dead_are_destroyed_when_they_are_returned_or_met<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        drop(guards.pop());
        factory.worker(0).kill();
        factory.worker(1).kill();
        drop(guards);
        assert_eq!(factory.destroyed(), 1);

        assert_eq!(ids::<P>(&pool.take(2)), [2, 3]);
        assert_eq!((factory.destroyed(), factory.live()), (2, 2));
    }

    /// ST-5
    async fn a_worker_is_asked_once_when_reused_and_once_when_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let record = record(&factory);
        let asked = [(Callback::IsWork, 0)];
        let guard = pool.get().expect_worker();
        assert_eq!(take_down(&record), []);
        drop(guard);
        assert_eq!(take_down(&record), asked);
        let guard = pool.get().expect_worker();
        assert_eq!(take_down(&record), asked);
        drop(guard);
        assert_eq!(take_down(&record), asked);
    }

    /// ST-1
    async fn a_worker_left_in_the_middle_of_something_is_not_reused<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let guard = pool.get().expect_worker();
        let mut operation = task::spawn(async {
            guard.state.is_well.store(false, SeqCst);
            pending::<()>().await;
            guard.state.is_well.store(true, SeqCst);
        });
        assert!(operation.poll().is_pending());

        drop(operation);
        drop(guard);
        assert_eq!(ids::<P>(&pool.take(1)), [1]);
        assert_eq!((factory.destroyed(), factory.live()), (1, 1));
    }

    /// ST-5
    async fn a_healthy_worker_is_reused_for_ever<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(4).open::<P>();
        for _ in 0..100 {
            pool.take(1);
        }
        assert_eq!(factory.calls(), 1);

        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| drop(pool.take(1))));
            }
        });
        assert!(factory.calls() <= 4);
        assert_eq!(factory.destroyed(), 0);
    }
}

/// ID-5
#[test]
fn an_expired_worker_of_another_class_serves_nobody() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<Classified>();
        drop(pool.get_of(2).expect_worker());
        factory.worker(0).also_serve(ONE);
        assert_eq!(pool.get().expect_worker().id(), 0);

        advance_secs(10).await;
        let guard = pool.get().expect_worker();
        assert_eq!((guard.id(), factory.destroyed()), (1, 1));
    });
}
