//! A clear ends what is of before, tells everybody so, and opens the pool again.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Cleared, Clearing, Failed};

use common::*;

/// A pool that is being cleared while the creation of a request waits at the gate.
#[track_caller]
fn clear_during_creation<P: TestPool>() -> (P, Factory, Get<P>, Call<()>) {
    let (pool, factory) = Setup::max(1).open::<P>();
    factory.gate();
    let mut request = pool.get();
    request.expect_pending();
    let mut clear = pool.clear();
    clear.expect_pending();
    (pool, factory, request, clear)
}

laws! {
    async fn a_clear_of_an_empty_pool_ends_at_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        pool.clear().expect_ready();
        pool.get().expect_worker();
        assert_eq!(factory.calls(), 1);
    }

    async fn what_is_idle_goes_at_once<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).open::<P>();
        drop(pool.take(3));
        pool.clear().expect_ready();
        assert_eq!(factory.destroyed(), 3);
        assert_eq!(pool.take(3)[0].id(), 3);
    }

    /// SD-1, SD-5
    async fn a_clear_ends_who_waits_and_refuses_who_comes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());
        let mut clear = pool.clear();
        clear.expect_pending();

        assert_eq!(woken(&waiters), [0, 1]);
        pool.get().expect_code(Clearing);
        waiters.iter_mut().for_each(|waiter| waiter.expect_code(Cleared));
        assert!(!clear.is_woken());
        drop(holder);
        assert!(clear.is_woken() && factory.live() == 0);
        clear.expect_ready();
        assert_eq!((pool.get().expect_worker().id(), factory.calls()), (1, 2));
    }

    async fn a_clear_begins_at_its_first_poll<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let clear = pool.clear();
        drop(pool.get().expect_worker());
        drop(clear);
        assert_eq!((pool.get().expect_worker().id(), factory.destroyed()), (0, 0));
    }

    /// SD-2
    async fn no_worker_of_before_is_handed_out_after<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        let mut guards = pool.take(3);
        drop(guards.pop());
        let mut clears = [pool.clear(), pool.clear()];
        clears.iter_mut().for_each(Call::expect_pending);
        assert_eq!(factory.live(), 2);

        drop(guards.pop());
        assert_eq!(factory.live(), 1);
        pool.get().expect_code(Clearing);
        drop(guards);
        assert_eq!(factory.live(), 0);
        clears.iter_mut().for_each(Call::expect_ready);
        drop(pool.get().expect_worker());
        assert_eq!(pool.get().expect_worker().id(), 3, "what is of after is kept");
    }

    async fn a_dead_worker_of_before_ends_the_clear_like_any_other<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        holder.state.kill();
        drop(holder);
        clear.expect_ready();
        assert_eq!(factory.live(), 0);
    }

    /// SD-3
    async fn a_creation_under_way_that_succeeds_is_destroyed_and_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut a, mut clear) = clear_during_creation::<P>();
        assert!(!a.is_woken(), "it runs to its end");

        factory.end(Outcome::Worker);
        clear.expect_pending();
        a.expect_code(Cleared);
        assert_eq!((factory.created(), factory.live()), (1, 0));
        clear.expect_ready();
        factory.open_gate();
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// SD-3
    async fn a_creation_under_way_that_fails_does_so_as_it_is<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (_pool, factory, mut a, mut clear) = clear_during_creation::<P>();

        factory.end(Outcome::Error("no more workers"));
        let error = a.expect_error();
        assert_eq!((error.code(), error.msg()), (Failed, "no more workers"));
        clear.expect_ready();
    }

    /// SD-3
    async fn a_creation_under_way_that_panics_or_is_dropped_ends_the_clear<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for panics in [true, false] {
            let (_pool, factory, mut a, mut clear) = clear_during_creation::<P>();

            if panics {
                factory.end(Outcome::Panic("no more workers"));
                assert!(panic_of(|| _ = a.poll()).is_some());
            } else {
                drop(a);
            }
            assert!(clear.is_woken());
            clear.expect_ready();
        }
    }

    async fn several_clears_end_together<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        let mut first = pool.clear();
        first.expect_pending();
        drop(guards.pop());
        let mut second = pool.clear();
        second.expect_pending();

        drop(guards);
        assert!(first.is_woken() && second.is_woken());
        pool.get().expect_worker();
        first.expect_ready();
        second.expect_ready();
    }

    /// SD-2. An idle worker that is being asked counts as borrowed.
    async fn a_request_that_asks_its_worker_when_a_clear_begins_has_borrowed_it<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        let clear = Arc::new(Mutex::new(pool.clear()));
        let begun = Arc::clone(&clear);
        factory.on(Callback::IsWork, move |_| begun.lock().unwrap().expect_pending());
        let guard = pool.get().expect_worker();
        factory.no_longer_on(Callback::IsWork);
        pool.get().expect_code(Clearing);

        drop(guard);
        assert_eq!(factory.destroyed(), 1);
        clear.lock().unwrap().expect_ready();
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    async fn a_clear_goes_on_as_long_as_one_of_several_is_awaited<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let (mut first, mut second) = (pool.clear(), pool.clear());
        first.expect_pending();
        second.expect_pending();
        drop(first);
        pool.get().expect_code(Clearing);
        drop(holder);
        second.expect_ready();
    }

    async fn an_abandoned_clear_opens_the_pool_and_spares_nobody_of_before<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        let mut clear = pool.clear();
        clear.expect_pending();
        drop(clear);

        let waiters = &mut wait(3, || pool.get());
        assert_eq!(factory.calls(), 2, "the workers of before keep their slots");
        drop(guards.pop());
        assert_eq!((factory.live(), woken(waiters)), (1, vec![0]));
        let new = waiters[0].expect_worker();
        assert_eq!(new.id(), 2);
        drop(new);
        assert_eq!(waiters[1].expect_worker().id(), 2, "what is of after is handed on");
        assert_eq!(waiters[2].expect_worker().id(), 2);
        drop(guards);
        assert_eq!((factory.live(), factory.worker(0).is_destroyed.load(SeqCst)), (1, true));
    }

    async fn a_clear_under_its_callers_timeout_opens_the_pool<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(2).open::<P>();
        std::mem::forget(pool.get().expect_worker());
        let mut clear = pool.clear().within(10);
        clear.expect_pending();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(clear.expect_ready().is_err());
        drop(clear);
        pool.get().expect_worker();
    }

    async fn a_new_clear_waits_for_what_an_abandoned_one_left<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let old = pool.get().expect_worker();
        let mut abandoned = pool.clear();
        abandoned.expect_pending();
        drop(abandoned);
        drop(pool.get().expect_worker());

        let mut clear = pool.clear();
        clear.expect_pending();
        assert_eq!(factory.live(), 1);
        drop(old);
        clear.expect_ready();
    }

    async fn a_creation_that_an_abandoned_clear_met_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory, mut a, clear) = clear_during_creation::<P>();
        drop(clear);
        let b = &mut wait(1, || pool.get())[0];

        factory.end(Outcome::Worker);
        a.expect_code(Cleared);
        assert!(b.is_woken() && factory.live() == 0);
        b.expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(b.expect_worker().id(), 1);
    }

    async fn who_was_handed_a_worker_before_a_clear_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        drop(holder);

        pool.clear().expect_ready();
        assert_eq!(factory.live(), 0);
        waiter.expect_code(Cleared);
        pool.get().expect_worker();
    }

    async fn who_was_permitted_to_create_before_a_clear_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_polled in [true, false] {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let mut waiter = wait(1, || pool.get()).remove(0);
            holder.state.kill();
            drop(holder);

            pool.clear().expect_ready();
            if is_polled {
                waiter.expect_code(Cleared);
            }
            drop(waiter);
            assert_eq!(factory.calls(), 1);
            pool.get().expect_worker();
            pool.take(1);
        }
    }

    async fn a_request_that_a_clear_meets_while_it_meets_the_dead_is_cleared<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        factory.worker(0).kill();
        let (within, clears) = (pool.clone(), std::sync::Mutex::new(Vec::new()));
        factory.on(Callback::Drop, move |_| {
            let mut clear = within.clear();
            clear.expect_pending();
            clears.lock().unwrap().push(clear);
        });

        pool.get().expect_code(Cleared);
        factory.no_longer_on(Callback::Drop);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    async fn a_clear_returns_when_the_last_destructor_has<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        let door = slow_destructors(&factory);
        let returned = thread::spawn(move || drop(holder));

        door.wait();
        assert!(!clear.is_woken());
        clear.expect_pending();
        pool.get().expect_code(Clearing);
        door.wait();
        returned.join().unwrap();
        assert!(clear.is_woken() && factory.live() == 0);
        clear.expect_ready();
    }

    async fn a_clear_waits_for_destructors_that_others_run<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
        drop(pool.get().expect_worker());
        tokio::time::advance(Duration::from_secs(10)).await;
        let door = slow_destructors(&factory);
        let theirs = pool.clone();
        let first = thread::spawn(move || theirs.clear().expect_ready());

        door.wait();
        let mut second = pool.clear();
        second.expect_pending();
        door.wait();
        first.join().unwrap();
        second.expect_ready();
    }

    /// PN-1
    async fn a_destructor_that_panics_on_return_ends_the_clear_all_the_same<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        factory.on(Callback::Drop, |_| panic!("a bad end"));

        assert_eq!(panic_of(|| drop(holder)).as_deref(), Some("a bad end"));
        clear.expect_ready();
        factory.no_longer_on(Callback::Drop);
        pool.get().expect_worker();
    }

    /// PN-1
    async fn a_clear_whose_destructor_panics_leaves_the_pool_open<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        drop(guards.pop());
        factory.on(Callback::Drop, |_| panic!("a bad end"));

        let mut clear = pool.clear();
        assert_eq!(panic_of(|| _ = clear.poll()).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        let waiter = pool.get().expect_worker();
        wait(1, || pool.get());
        drop(guards);
        assert_eq!((waiter.id(), factory.live()), (2, 1));
    }

    async fn a_clear_that_is_awaited_with_a_guard_in_hand_ends_when_that_is_dropped<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        for _ in 0..3 {
            clear.expect_pending();
        }
        drop(holder);
        clear.expect_ready();
    }
}

#[test]
fn a_clear_empties_every_key() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Keyed>();
        drop([1, 2, 3].map(|key| pool.get_of(key).expect_worker()));
        let holder = pool.get_of(2).expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        assert_eq!(factory.live(), 1);
        pool.get_of(4).expect_code(Clearing);
        drop(holder);
        clear.expect_ready();
    });
}

#[test]
fn a_clear_ends_requests_for_a_class_and_for_any_and_their_promises() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Classified>();
        drop(pool.get().expect_worker());
        let door = slow_destructors(&factory);
        let theirs = pool.clone();
        let evicting = thread::spawn(move || theirs.get_of(2).expect_error().code());

        door.wait();
        let mut any = pool.get_any();
        any.expect_pending();
        let mut clear = pool.clear();
        clear.expect_pending();
        any.expect_code(Cleared);
        door.wait();
        assert_eq!(evicting.join().unwrap(), Cleared);
        clear.expect_ready();
        assert_eq!((factory.calls(), factory.live()), (1, 0));
    });
}

/// Each destructor waits at this door when it begins, and again before it returns.
fn slow_destructors(factory: &Factory) -> Arc<Barrier> {
    let door = Arc::new(Barrier::new(2));
    let inside = Arc::clone(&door);
    factory.on(Callback::Drop, move |_| {
        inside.wait();
        inside.wait();
    });
    door
}
