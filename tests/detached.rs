//! A creation may go on apart from the request for which it was begun.

mod common;

use sfo_pool::PoolErrorCode::{Cleared, Failed};
use sfo_pool::PoolResult;

use common::*;

fn detached(max: u16) -> Setup {
    Setup::max(max).with(|options| options.with_detached_creation(true))
}

/// What a request is served with once its creation has gone on.
async fn hold<G>(mut request: Call<PoolResult<G>>) -> G {
    request.expect_pending();
    let_tasks_run().await;
    request.expect_worker()
}

laws! {
    /// CX-6
    async fn a_caller_that_gives_up_leaves_its_worker_to_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(1).open::<P>();
        factory.gate();
        let mut first = pool.get();
        first.expect_pending();
        let_tasks_run().await;
        drop(first);
        let mut second = wait(1, || pool.get()).remove(0);
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        drop(second.expect_worker());
        assert_eq!((factory.calls(), factory.destroyed()), (1, 0));
    }

    async fn a_worker_that_nobody_waits_for_any_more_becomes_idle<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(1).open::<P>();
        factory.gate();
        drop(wait(1, || pool.get()));
        let_tasks_run().await;
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!((pool.status().idle, pool.status().total), (1, 1));
        drop(pool.get().expect_worker());
        assert_eq!(factory.calls(), 1);
    }

    async fn a_request_takes_whichever_comes_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(2).open::<P>();
        let held = hold(pool.get()).await;
        factory.gate();
        let mut request = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        request.expect_pending();
        drop(held);
        assert_eq!(request.expect_worker().id(), 0, "the returned one");
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!(pool.status().idle, 2, "the new one is there for the next");
    }

    async fn a_request_keeps_its_place_while_its_creation_goes_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(2).open::<P>();
        let held = hold(pool.get()).await;
        factory.gate();
        let mut waiters = wait(2, || pool.get());
        let_tasks_run().await;
        drop(held);
        waiters[1].expect_pending();
        drop(waiters[0].expect_worker());
    }

    async fn there_are_never_more_creations_than_requests<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(10).open::<P>();
        factory.gate();
        let mut waiters = wait(3, || pool.get());
        let_tasks_run().await;
        waiters.iter_mut().for_each(Call::expect_pending);
        let_tasks_run().await;
        assert_eq!((factory.waiting(), pool.status().creating, pool.status().waiting), (3, 3, 3));
        waiters.pop();
        waiters.pop();
        waiters.push(pool.get());
        waiters[1].expect_pending();
        let_tasks_run().await;
        assert_eq!(factory.calls(), 3, "three go on for two");
        for _ in 0..3 {
            factory.end(Outcome::Worker);
        }
        let_tasks_run().await;
        waiters.iter_mut().for_each(|call| drop(call.expect_worker()));
    }

    async fn every_request_is_served_by_a_creation_where_there_is_room<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(3).open::<P>();
        let mut waiters = wait(3, || pool.get());
        // Whoever is the oldest in line begins the next creation.
        waiters.iter_mut().for_each(Call::expect_pending);
        let_tasks_run().await;
        let guards: Vec<_> = waiters.iter_mut().map(Call::expect_worker).collect();
        assert_eq!((guards.len(), factory.created()), (3, 3));
    }

    async fn an_error_is_that_of_the_request_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(1).open::<P>();
        factory.next(Outcome::Error("down"));
        let mut waiters = wait(2, || pool.get());
        let_tasks_run().await;
        let error = waiters[0].expect_error();
        assert_eq!((error.code(), error.msg()), (Failed, "down"));
        waiters[1].expect_pending();
        let_tasks_run().await;
        drop(waiters[1].expect_worker());
    }

    async fn a_panic_goes_on_in_the_request<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = detached(1).open::<P>();
        factory.next(Outcome::Panic("create"));
        let mut request = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        assert_eq!(panic_of(|| drop(request.poll())).as_deref(), Some("create"));
        let mut next = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        drop(next.expect_worker());
    }

    async fn a_clear_ends_the_request_and_what_it_creates<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = detached(1).open::<P>();
        factory.gate();
        let mut request = wait(1, || pool.get()).remove(0);
        let_tasks_run().await;
        let mut clear = pool.clear();
        clear.expect_pending();
        request.expect_code(Cleared);
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        clear.expect_ready();
        assert_eq!(factory.live(), 0);
    }

    async fn the_pool_is_not_kept_by_a_creation<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = detached(1).open::<P>();
        factory.gate();
        drop(wait(1, || pool.get()));
        let_tasks_run().await;
        let is_gone = pool.probe();
        drop(pool);
        assert!(is_gone());
        factory.end(Outcome::Worker);
        let_tasks_run().await;
        assert_eq!(factory.live(), 0);
    }
}

/// In a loop of creations whose workers nobody can use, none would ever be served.
#[test]
fn a_worker_of_a_full_class_is_not_created_again_and_again() {
    watched(|| async {
        let setup = detached(3).max_per_class(1);
        let (Any(pool), factory) = setup.open::<Any>();
        let pool = Classified(pool);
        let held = hold(pool.get_of(1)).await;
        factory.next(Outcome::WorkerOf(1));
        let mut request = pool.get_any();
        request.expect_pending();
        for _ in 0..5 {
            let_tasks_run().await;
            request.expect_pending();
        }
        assert_eq!(factory.calls(), 2);
        drop(held);
        drop(request.expect_worker());
    });
}
