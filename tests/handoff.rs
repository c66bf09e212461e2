//! A freed worker or slot reaches whoever waits for it, and nobody else.

mod common;

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use tokio::time::advance;

use common::*;

laws! {
    /// LW-1
    async fn a_return_between_look_and_line_is_not_lost<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        for round in 0..1000 {
            let holder = pool.get().expect_worker();
            let mut call = pool.get();
            let start = AtomicBool::new(false);
            let early = thread::scope(|scope| {
                scope.spawn(|| {
                    start.store(true, SeqCst);
                    (0..round % 100).for_each(|_| spin_loop());
                    drop(holder);
                });
                while !start.load(SeqCst) {
                    thread::yield_now();
                }
                call.poll()
            });
            if early.is_pending() {
                assert!(call.is_woken(), "nothing else will wake it");
                call.expect_worker();
            }
        }
    }

    /// LW-2
    async fn a_waiter_that_left_is_passed_by<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());

        drop(waiters.remove(0));
        assert!(!waiters[0].is_woken(), "nothing came free yet");
        drop(holder);
        let guard = waiters[0].expect_worker();
        assert_eq!((guard.id(), factory.calls(), factory.destroyed()), (0, 1, 0));
    }

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

    /// CX-2
    async fn what_a_cancelled_waiter_was_handed_becomes_idle<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        for _ in 0..1000 {
            let holder = pool.get().expect_worker();
            let waiters = wait(1, || pool.get());
            drop(holder);
            drop(waiters);
        }
        assert_eq!(pool.get().expect_worker().id(), 0);
        assert_eq!((factory.calls(), factory.live()), (1, 1));
    }

    /// LW-3: a caller's timer that fires together with the hand-over loses.
    async fn a_worker_does_not_stop_at_waiters_whose_time_is_up<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let [mut b, mut c, mut d] = [(); 3].map(|()| pool.get().within(10));
        for waiter in [&mut b, &mut c, &mut d] {
            waiter.expect_pending();
        }
        let mut e = wait(1, || pool.get()).remove(0);
        advance(Duration::from_secs(10)).await;

        drop(holder);
        e.expect_pending();
        let guard = b.expect_ready().expect("the worker wins over the timer").unwrap();
        assert!(c.expect_ready().is_err(), "there is nothing for it in time");
        drop(c);
        drop(guard);
        e.expect_pending();
        drop(d);
        assert_eq!(e.expect_worker().id(), 0);
        assert_eq!(factory.calls(), 1);
    }

    /// LW-6 (a)
    async fn a_discarded_worker_leaves_its_slot_to_a_waiter<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(1, || pool.get());

        holder.state.kill();
        drop(holder);
        assert_eq!(waiters[0].expect_worker().id(), 1);
        assert_eq!((factory.calls(), factory.destroyed()), (2, 1));
    }

    /// LW-6 (b)
    async fn a_discard_creates_nothing_for_nobody<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        factory.always(Some(Outcome::Error("down")));

        holder.state.kill();
        drop(holder);
        assert_eq!((factory.calls(), factory.live()), (1, 0));
        factory.always(None);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// LW-6
    async fn one_freed_unit_wakes_one_of_10_000_waiters<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(10_000, || pool.get());
        waiters.reverse();
        let only_the_oldest = |waiters: &[Get<P>]| woken(waiters) == [waiters.len() - 1];

        holder.state.kill();
        drop(holder);
        assert!(only_the_oldest(&waiters), "after a discard");

        factory.next(Outcome::Error("down"));
        waiters.pop().unwrap().expect_error();
        assert!(only_the_oldest(&waiters), "after a failure");

        factory.next(Outcome::Panic("down"));
        let mut waiter = waiters.pop().unwrap();
        assert!(panic_of(|| drop(waiter.poll())).is_some());
        assert!(only_the_oldest(&waiters), "after a panic");

        drop(waiters.pop());
        assert!(only_the_oldest(&waiters), "after a cancelled call");

        factory.gate();
        waiters.last_mut().unwrap().expect_pending();
        drop(waiters.pop());
        assert!(only_the_oldest(&waiters), "after a cancelled creation");

        factory.open_gate();
        drop(waiters.pop().unwrap().expect_worker());
        assert!(only_the_oldest(&waiters), "after a return");
    }

    /// CX-1
    async fn a_waiter_that_left_leaves_nothing_behind<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        struct Silent;
        impl Wake for Silent {
            fn wake(self: Arc<Self>) {
                panic!("nobody is left to wake");
            }
        }
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let task = Arc::new(Silent);
        let waker = Waker::from(Arc::clone(&task));
        for _ in 0..10_000 {
            let mut waiter = pool.get().into_future();
            assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(Arc::strong_count(&task), 3, "the pool can wake the waiter");
            drop(waiter);
            assert_eq!(Arc::strong_count(&task), 2, "the pool has forgotten the waiter");
        }

        drop(holder);
        assert_eq!(pool.get().expect_worker().id(), 0);
        assert_eq!(factory.calls(), 1);
    }

    /// FR-1
    async fn a_newcomer_never_passes_a_waiter<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut b = wait(1, || pool.get()).remove(0);

        drop(holder);
        let mut a = wait(1, || pool.get()).remove(0);
        let guard = b.expect_worker();
        assert_eq!(guard.id(), 0, "what was returned is for the waiter");

        guard.state.kill();
        drop(guard);
        let mut c = wait(1, || pool.get()).remove(0);
        factory.next(Outcome::Error("down"));
        a.expect_error();
        let _d = wait(1, || pool.get());
        assert_eq!(c.expect_worker().id(), 1, "and so is what was freed");
    }

    /// FR-3
    async fn waiters_are_served_first_come_first_served<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let mut holder = Some(pool.get().expect_worker());
        let mut waiters: Vec<_> = (1..=5).zip(wait(5, || pool.get())).collect();
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

    /// FR-3
    async fn a_request_is_ordered_by_its_first_poll<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let [mut second, mut first] = [pool.get(), pool.get()];
        first.expect_pending();
        second.expect_pending();

        drop(holder);
        assert!(first.is_woken() && !second.is_woken());
        drop(first.expect_worker());
        second.expect_worker();
    }

    /// FR-3, D7
    async fn a_waiter_keeps_its_place_when_it_is_polled_again<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());
        waiters[0].expect_pending();
        let mut moved = Call::new(waiters.remove(0).into_future());
        moved.expect_pending();

        drop(holder);
        assert!(moved.is_woken(), "in the task that polled it last");
        assert!(!waiters[0].is_woken());
        moved.expect_worker();
    }

    /// FR-1, D7
    async fn a_request_that_asks_an_idle_worker_precedes_who_comes_meanwhile<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        drop(pool.get().expect_worker());
        factory.worker(0).kill();
        let newcomer = Arc::new(Mutex::new(None));
        factory.on(Callback::IsWork, {
            let (pool, newcomer) = (pool.clone(), Arc::clone(&newcomer));
            move |_| *newcomer.lock().unwrap() = wait(1, || pool.get()).pop()
        });
        factory.gate();

        let mut first = wait(1, || pool.get()).remove(0);
        factory.no_longer_on(Callback::IsWork);
        let mut newcomer = newcomer.lock().unwrap().take().unwrap();
        newcomer.expect_pending();
        factory.end(Outcome::Worker);
        assert_eq!(first.expect_worker().id(), 1);
        assert_eq!(newcomer.expect_worker().id(), 1);
        assert_eq!(factory.calls(), 2);
    }

    /// FR-6
    async fn who_holds_one_and_waits_for_another_gets_out_by_a_timeout<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let held = pool.take(2);
        let mut more = [(); 2].map(|()| pool.get().within(10));
        more.iter_mut().for_each(Call::expect_pending);

        advance(Duration::from_secs(10)).await;
        assert!(more.iter_mut().all(|call| call.expect_ready().is_err()));
        drop((held, more));
        pool.take(2);
        assert_eq!(factory.calls(), 2);
    }
}

/// FR-5
#[test]
fn a_stuck_key_delays_no_other() {
    watched(|| async {
        let (pool, _factory) = Setup::max(1).open::<Keyed>();
        let _stuck = pool.get_of(1).expect_worker();
        let mut waiters: Vec<_> = (0..5).map(|_| pool.get_of(1)).collect();
        waiters.iter_mut().for_each(Call::expect_pending);
        drop(pool.get_of(2).expect_worker());
    });
}

/// D8
#[test]
fn what_happens_under_one_key_wakes_nobody_of_another() {
    watched(|| async {
        let (pool, factory) = Setup::max(1).open::<Keyed>();
        let [mine, _other] = [1, 2].map(|key| pool.get_of(key).expect_worker());
        let [mut first, mut second, mut third, mut other] =
            [1, 1, 1, 2].map(|key| pool.get_of(key));
        for waiter in [&mut first, &mut second, &mut third, &mut other] {
            waiter.expect_pending();
        }

        mine.state.kill();
        drop(mine);
        factory.next(Outcome::Error("down"));
        first.expect_error();
        drop(second.expect_worker());
        drop(third.expect_worker());
        pool.cleanup();
        assert!(!other.is_woken());
    });
}
