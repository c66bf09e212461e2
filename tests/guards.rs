//! A guard may be dropped anywhere, and gives back what it holds once.

mod common;

use std::fmt::Debug;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use sfo_pool::PoolErrorCode;

use common::*;

laws! {
    async fn a_guard_may_be_dropped_on_a_plain_thread<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).idle_timeout(10).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];

        thread::spawn(move || drop(holder)).join().unwrap();
        assert!(waiter.is_woken());
        let holder = waiter.expect_worker();
        thread::spawn(move || drop(holder)).join().unwrap();
        assert_eq!((pool.get().expect_worker().id(), factory.calls()), (0, 1));
    }

    /// PN-2
    async fn a_task_that_panics_discards_its_worker_and_serves_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        let task = tokio::spawn(async move {
            let _holder = holder;
            panic!("half-way");
        });

        assert!(task.await.is_err_and(|error| error.is_panic()));
        assert!(waiter.is_woken() && factory.worker(0).is_destroyed.load(SeqCst));
        assert_eq!(waiter.expect_worker().id(), 1);
    }

    async fn a_guard_outlives_its_runtime<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let theirs = pool.clone();
        let holder = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
            let holder = runtime.block_on(theirs.get().into_future()).ok().unwrap();
            drop(runtime);
            holder
        });
        let holder = holder.join().unwrap();
        let waiter = &mut wait(1, || pool.get())[0];

        thread::spawn(move || drop(holder)).join().unwrap();
        assert_eq!((waiter.expect_worker().id(), factory.calls()), (0, 1));
    }

    async fn a_forgotten_guard_keeps_its_slot_and_no_more<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        std::mem::forget(pool.get().expect_worker());
        for _ in 0..3 {
            let holder = pool.get().expect_worker();
            let waiter = &mut wait(1, || pool.get())[0];
            drop(holder);
            assert_eq!(waiter.expect_worker().id(), 1);
        }
        assert_eq!((factory.calls(), factory.destroyed()), (2, 0));
    }

    /// OW-1
    async fn no_two_guards_hold_the_same_worker<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).open::<P>();
        for round in 0..4 {
            let mut guards = pool.take(2);
            drop(guards.remove(round % 2));
            guards.push(pool.get().expect_worker());
            wait(1, || pool.get());
            let mut ids: Vec<_> = guards.iter().map(|guard| guard.id()).collect();
            ids.sort_unstable();
            assert_eq!(ids, [0, 1]);
        }
        assert_eq!((factory.calls(), factory.destroyed()), (2, 0));
    }

    /// OW-4
    async fn a_slow_destructor_keeps_the_slot_until_it_has_returned<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        holder.state.kill();
        let door = Arc::new(Barrier::new(2));
        let inside = Arc::clone(&door);
        factory.on(Callback::Drop, move |_| {
            inside.wait();
            inside.wait();
        });
        let slow = thread::spawn(move || drop(holder));
        door.wait();

        let mut b = pool.get().within(10);
        b.expect_pending();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(b.expect_ready().is_err(), "waits its deadline");
        drop(b);
        let c = &mut wait(1, || pool.get())[0];
        assert_eq!((factory.calls(), factory.destroyed()), (1, 0));

        door.wait();
        slow.join().unwrap();
        factory.no_longer_on(Callback::Drop);
        assert_eq!((c.expect_worker().id(), factory.calls()), (1, 2));
    }

    /// SD-7
    async fn a_pool_that_is_dropped_destroys_what_is_idle_and_later_what_is_out<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for on_a_plain_thread in [false, true] {
            let (pool, factory) = Setup::max(3).idle_timeout(10).open::<P>();
            let is_gone = pool.probe();
            let mut guards = pool.take(3);
            drop(guards.pop());
            let holder = guards.swap_remove(0);
            drop(guards);

            drop(pool);
            assert!(is_gone());
            assert_eq!((factory.created(), factory.live()), (3, 1));
            assert_eq!(holder.id(), 0, "what is out stays usable");
            if on_a_plain_thread {
                thread::spawn(move || drop(holder)).join().unwrap();
            } else {
                drop(holder);
            }
            assert_eq!(factory.live(), 0);
        }
    }

    /// SD-7
    async fn nothing_keeps_a_dropped_pool_alive<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let token = Arc::new(());
        let probe = Arc::downgrade(&token);
        factory.on(Callback::Create, move |_| _ = Arc::strong_count(&token));
        drop(factory);

        let holder = pool.get().expect_worker();
        drop(pool.get().expect_worker());
        drop((pool.clear(), pool.get()));
        drop(pool);
        assert!(probe.upgrade().is_some(), "the guard's worker has the factory");
        drop(holder);
        assert!(probe.upgrade().is_none());
    }

    /// SD-7
    async fn a_pool_that_was_never_used_leaves_nothing<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let is_gone = pool.probe();
        drop(pool);
        assert!(is_gone());
        assert_eq!(factory.calls(), 0);
    }

    /// CX-2
    async fn what_a_request_was_handed_that_unwinding_drops_goes_to_the_next<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());
        drop(holder);
        let handed = waiters.remove(0);

        assert!(unwind_over(handed).is_some());
        assert_eq!((waiters[0].expect_worker().id(), factory.destroyed()), (0, 0));
    }

    /// OW-1
    async fn a_worker_that_is_taken_out_is_its_owners_and_its_slot_is_free<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let mut guards = pool.take(2);
        let waiter = &mut wait(1, || pool.get())[0];
        let worker = P::detach(guards.remove(0));
        assert!(waiter.is_woken());
        assert_eq!((worker.id(), factory.destroyed(), pool.status().total), (0, 0, 2));
        assert_eq!(waiter.expect_worker().id(), 2);
        assert_eq!(factory.live(), 3, "it lives beside those of the pool");
        drop(worker);
        assert_eq!((factory.live(), pool.status().total), (2, 2));
        drop(guards);
        let mut ids: Vec<_> = pool.take(2).iter().map(|guard| guard.id()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
    }

    async fn a_worker_may_be_taken_out_anywhere_and_by_who_outlives_the_pool<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let is_gone = pool.probe();
        let mut guards = pool.take(2);
        let first = guards.remove(0);
        let worker = thread::spawn(move || P::detach(first)).join().unwrap();
        assert_eq!(pool.status().total, 1);
        drop(pool);
        let second = P::detach(guards.remove(0));
        assert!(is_gone() && factory.live() == 2);
        drop((worker, second));
    }

    async fn a_worker_that_is_taken_out_ends_a_clear<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut clear = pool.clear();
        clear.expect_pending();
        let worker = P::detach(holder);
        assert!(clear.is_woken());
        clear.expect_ready();
        assert_eq!(worker.id(), 0);
    }

    /// LW-6
    async fn a_worker_that_is_discarded_is_not_asked_and_frees_its_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        factory.on(Callback::IsWork, |_| panic!("it is not asked"));
        P::discard(holder);
        assert!(waiter.is_woken() && factory.worker(0).is_destroyed.load(SeqCst));
        factory.no_longer_on(Callback::IsWork);
        let holder = waiter.expect_worker();
        assert_eq!(holder.id(), 1);

        factory.always(Some(Outcome::Error("down")));
        P::discard(holder);
        assert_eq!((factory.calls(), pool.status().total), (2, 0), "nobody waits");
    }

    async fn a_discard_whose_destructor_panics_frees_the_slot_first<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let waiter = &mut wait(1, || pool.get())[0];
        factory.on(Callback::Drop, |_| panic!("a bad end"));
        assert_eq!(panic_of(|| P::discard(holder)).as_deref(), Some("a bad end"));
        factory.no_longer_on(Callback::Drop);
        assert_eq!(waiter.expect_worker().id(), 1);
    }

    /// PN-2
    async fn with_an_option_what_is_well_survives_a_panic_of_its_user<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for (keeps, is_well, survives) in
            [(true, true, true), (true, false, false), (false, true, false)]
        {
            let setup = Setup::max(1).with(|options| options.with_keep_on_panic(keeps));
            let (pool, factory) = setup.open::<P>();
            let holder = pool.get().expect_worker();
            let waiter = &mut wait(1, || pool.get())[0];
            holder.state.is_well.store(is_well, SeqCst);
            assert_eq!(unwind_over(holder).as_deref(), Some("half-way"));
            assert_eq!(factory.live() == 1, survives);
            assert_eq!(waiter.expect_worker().id(), usize::from(!survives));
        }
    }
}

/// PN-2
#[test]
fn no_second_panic_aborts_while_a_guard_is_dropped_unwinding() {
    async fn law<P: TestPool>() {
        use Callback::{Drop, IsWork, Names, Serves};
        for callbacks in [&[Drop][..], &[IsWork], &[Names, Serves], &[IsWork, Names, Serves, Drop]]
        {
            for keeps in [false, true] {
                let setup = Setup::max(2).with(|options| options.with_keep_on_panic(keeps));
                let (pool, factory) = setup.open::<P>();
                let guards = pool.take(2);
                if keeps {
                    guards.iter().for_each(|guard| guard.state.kill());
                }
                let waiters = &mut wait(2, || pool.get());
                for &callback in callbacks {
                    factory.on(callback, move |_| panic!("{callback:?}"));
                }

                assert_eq!(unwind_over(guards).as_deref(), Some("half-way"));
                callbacks.iter().for_each(|&callback| factory.no_longer_on(callback));
                assert_eq!((factory.live(), woken(waiters)), (0, vec![0, 1]));
                waiters.iter_mut().for_each(|waiter| drop(waiter.expect_worker()));
            }
        }
    }
    in_own_process("no_second_panic_aborts_while_a_guard_is_dropped_unwinding", || {
        watched(law::<General>);
        watched(law::<Keyed>);
        watched(law::<Classified>);
        watched(law::<Any>);
    });
}

/// OW-1
#[test]
fn workers_that_were_swapped_between_keys_are_destroyed() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let (mut a, mut b) = (pool.get_of(1).expect_worker(), pool.get_of(2).expect_worker());
        std::mem::swap(&mut *a, &mut *b);
        drop((a, b));
        assert_eq!(factory.live(), 0);
        assert_eq!(pool.get_of(1).expect_worker().id(), 2);
    });
}

#[test]
fn guards_and_pools_show_themselves_without_their_workers() {
    fn starts(shown: &impl Debug, with: &str) -> bool {
        format!("{shown:?}").starts_with(with)
    }
    watched(|| async {
        let (General(pool), _) = Setup::max(1).open::<General>();
        let guard = pool.get_worker().await.unwrap();
        assert!(starts(&pool, "WorkerPool ") && starts(&guard, "WorkerGuard "));
        let (Keyed(pool), _) = Setup::max(1).open::<Keyed>();
        let guard = pool.get_worker(ONE).await.unwrap();
        assert!(starts(&pool, "KeyedWorkerPool ") && starts(&guard, "KeyedWorkerGuard "));
        let (Classified(pool), _) = Setup::max(1).open::<Classified>();
        let guard = pool.get_classified_worker(ONE).await.unwrap();
        assert!(starts(&pool, "ClassifiedWorkerPool "));
        assert!(starts(&guard, "ClassifiedWorkerGuard "));
    });
}

laws! {
    async fn a_pool_shows_its_counts<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, _factory) = Setup::max(2).open::<P>();
        let shows = |counts: &str| {
            let shown = format!("{pool:?}");
            assert!(shown.contains(counts), "{shown}");
        };
        let mut held = pool.take(2);
        let waiters = wait(1, || pool.get());
        shows("total: 2, idle: 0, borrowed: 2, creating: 0, waiting: 1, phase: Open");
        drop(waiters);
        held.pop();
        shows("total: 2, idle: 1, borrowed: 1, creating: 0, waiting: 0, phase: Open");
        let mut clear = pool.clear();
        clear.expect_pending();
        shows("total: 1, idle: 0, borrowed: 1, creating: 0, waiting: 0, phase: Clearing");
    }
}

#[test]
fn an_error_can_be_unwrapped_from_what_would_be_a_guard() {
    watched(|| async {
        let (General(pool), _) = Setup::max(0).open::<General>();
        let error = pool.get_worker().await.unwrap_err();
        assert_eq!(error.code(), PoolErrorCode::InvalidConfig);
    });
}

/// PN-3
#[test]
fn a_pool_can_be_shown_while_it_is_locked() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        drop(pool.get().expect_worker());
        let within = pool.clone();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&shown);
        factory.on(Callback::Serves, move |_| list.lock().unwrap().push(format!("{:?}", within.0)));

        drop(pool.get_of(2).expect_worker());
        let shown = shown.lock().unwrap();
        assert!(shown.iter().all(|shown| shown.starts_with("ClassifiedWorkerPool ")));
        assert!(shown.iter().any(|shown| shown.contains("<locked>")));
    });
}

/// Drops `held` while the thread unwinds, and returns the message of the panic that comes out.
fn unwind_over<T>(held: T) -> Option<String> {
    panic_of(move || {
        let _held = held;
        panic!("half-way");
    })
}
