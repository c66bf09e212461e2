//! User code that panics, re-enters the pool or blocks harms nobody but its own caller.

mod common;
#[path = "hostile/mines.rs"]
mod mines;

use std::any::TypeId;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    PoolErrorCode, PoolOptions, PoolResult,
};

use common::*;

use self::mines::{Ground, PLACES, Place};

/// Makes a law a test on each ground, run `here` or `alone`.
macro_rules! on_every_ground {
    ($($(#[$meta:meta])* $run:ident $law:ident<$ground:ident>() $body:block)+) => {
        $(
            $(#[$meta])*
            mod $law {
                use super::*;

                async fn law<$ground: Ground>() $body

                #[test]
                fn general() {
                    $run(concat!(stringify!($law), "::general"), law::<mines::General>);
                }

                #[test]
                fn keyed() {
                    $run(concat!(stringify!($law), "::keyed"), law::<mines::Keyed>);
                }

                #[test]
                fn classified() {
                    $run(concat!(stringify!($law), "::classified"), law::<mines::Classified>);
                }

                #[test]
                fn any() {
                    $run(concat!(stringify!($law), "::any"), law::<mines::Any>);
                }
            }
        )+
    };
}

fn here<F: Future<Output = ()> + 'static>(_test: &str, law: fn() -> F) {
    watched(law);
}

/// In a process of its own, so that an abort is seen.
fn alone<F: Future<Output = ()> + 'static>(test: &str, law: fn() -> F) {
    in_own_process(test, || watched(law));
}

on_every_ground! {
    /// PN-1
    here a_panic_anywhere_reaches_its_caller_alone_and_costs_nothing<G>() {
        let mut calls = 0;
        for place in PLACES {
            calls += mines::sweep::<G>(place, None).await;
        }
        assert!(calls > 50, "the tour must tread somewhere");
    }

    /// PN-2
    alone a_second_panic_on_the_way_never_aborts<G>() {
        for place in PLACES {
            for next in [Place::WorkerDrop, Place::Wake, Place::WakerDrop, Place::KeyDrop] {
                mines::sweep::<G>(place, Some(next)).await;
            }
        }
    }

    /// PN-3
    here whatever_runs_outside_the_lock_may_call_the_pool<G>() {
        for act in mines::acts::<G>() {
            assert!(mines::visit(act).await > 50, "the tour must pay visits");
        }
    }
}

laws! {
    /// PN-1
    async fn a_panic_in_create_costs_its_task_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        factory.gate();
        let a = tokio::spawn(pool.get().into_future());
        tokio::task::yield_now().await;
        let mut b = pool.get();
        b.expect_pending();

        factory.end(Outcome::Panic("no more workers"));
        assert!(a.await.is_err_and(|error| error.is_panic()));
        assert!(b.is_woken());
        b.expect_pending();
        factory.end(Outcome::Worker);
        b.expect_worker();
        assert_eq!(factory.calls(), 2);
    }

    /// PN-1
    async fn an_idle_worker_that_panics_when_asked_goes_and_its_slot_is_passed_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for &callback in questions::<P>() {
            let (pool, factory) = Setup::max(1).open::<P>();
            drop(pool.get().expect_worker());
            let later = Arc::new(Mutex::new(pool.get()));
            let b = Arc::clone(&later);
            once_on(&factory, callback, move |_| {
                b.lock().unwrap().expect_pending();
                panic!("a bad question");
            });

            let mut a = pool.get();
            assert_eq!(panic_of(|| _ = a.poll()).as_deref(), Some("a bad question"));
            let mut b = later.lock().unwrap();
            assert!(b.is_woken() && factory.live() == 0);
            assert_eq!(b.expect_worker().id(), 1);
        }
    }

    /// PN-1
    async fn a_question_that_panics_in_a_guards_drop_is_answered_no<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for &callback in questions::<P>() {
            let (pool, factory) = Setup::max(1).open::<P>();
            let holder = pool.get().expect_worker();
            let b = &mut wait(1, || pool.get())[0];
            once_on(&factory, callback, |_| panic!("a bad question"));

            drop(holder);
            assert!(b.is_woken() && factory.live() == 0);
            assert_eq!(b.expect_worker().id(), 1);
        }
    }

    /// PN-1
    async fn what_a_panic_carries_may_panic_as_it_goes<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        once_on(&factory, Callback::IsWork, |_| panic::resume_unwind(Box::new(Bomb)));

        drop(holder);
        assert_eq!(factory.live(), 0);
        assert_eq!(pool.get().expect_worker().id(), 1);
    }

    /// PN-1
    async fn a_destructor_that_panics_on_return_has_freed_its_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut waiters = wait(2, || pool.get());
        holder.state.kill();
        once_on(&factory, Callback::Drop, |_| panic!("a bad end"));

        assert_eq!(panic_of(|| drop(holder)).as_deref(), Some("a bad end"));
        assert_eq!(woken(&waiters), [0]);
        drop(waiters[0].expect_worker());
        waiters[1].expect_worker();
    }

    /// PN-1
    async fn a_destructor_that_panics_in_a_get_costs_that_get_alone<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_expired in [true, false] {
            let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
            drop(pool.take(2));
            if is_expired {
                tokio::time::advance(Duration::from_secs(10)).await;
            } else {
                (0..2).for_each(|id| factory.worker(id).kill());
            }
            once_on(&factory, Callback::Drop, |_| panic!("a bad end"));

            let mut a = pool.get();
            assert_eq!(panic_of(|| _ = a.poll()).as_deref(), Some("a bad end"));
            assert!(factory.worker(0).is_destroyed.load(SeqCst) || !is_expired);
            serves_two(&pool);
        }
    }

    /// PN-1
    async fn all_is_destroyed_before_the_first_panic_of_a_destructor_goes_on<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for end in [Ending::Cleanup, Ending::Clear, Ending::Drop] {
            let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
            drop(pool.take(2));
            tokio::time::advance(Duration::from_secs(10)).await;
            factory.on(Callback::Drop, |id| panic!("{id}"));

            let mut pool = Some(pool);
            assert_eq!(panic_of(|| end.run(&mut pool)).as_deref(), Some("0"), "{end:?}");
            assert_eq!(factory.destroyed(), 2, "{end:?}");
            factory.no_longer_on(Callback::Drop);
            if let Some(pool) = &pool {
                serves_two(pool);
            }
        }
    }

    /// PN-1
    async fn the_first_panic_goes_on_and_not_that_of_what_is_given_back<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for is_found_dead in [true, false] {
            let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
            let (expires, dies) = (pool.get().expect_worker(), pool.get().expect_worker());
            drop(expires);
            tokio::time::advance(Duration::from_secs(10)).await;
            drop(dies);
            let dies = factory.worker(1);
            if is_found_dead {
                dies.kill();
            }
            factory.on(Callback::Drop, move |id| {
                dies.kill();
                panic!("{id}");
            });

            assert_eq!(panic_of(|| _ = pool.get().poll()).as_deref(), Some("0"));
            assert_eq!(factory.destroyed(), 2);
        }
    }

    /// PN-1
    async fn a_healthy_worker_survives_the_bad_end_of_a_dead_one<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        pool.take(2).into_iter().for_each(drop);
        factory.worker(1).kill();
        once_on(&factory, Callback::Drop, |_| panic!("a bad end"));

        assert_eq!(panic_of(|| _ = pool.get().poll()).as_deref(), Some("a bad end"));
        assert_eq!((factory.destroyed(), factory.live()), (1, 1));
        assert_eq!(pool.get().expect_worker().id(), 0);
    }

    /// PN-1
    async fn a_wake_that_panics_reaches_the_one_who_returns_and_costs_nobody_a_worker<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut a = pool.get().into_future();
        let waker = hooked(|| panic!("a bad wake"), || ());
        assert!(a.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let b = &mut wait(1, || pool.get())[0];

        assert_eq!(panic_of(|| drop(holder)).as_deref(), Some("a bad wake"));
        assert!(!b.is_woken());
        drop(a);
        assert!(b.is_woken());
        assert_eq!((b.expect_worker().id(), factory.destroyed()), (0, 0));
    }

    /// PN-1
    async fn a_waker_that_panics_when_dropped_reaches_the_one_who_cancels<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, _factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        let mut a = pool.get().into_future();
        let waker = hooked(|| (), || panic!("a bad end"));
        assert!(a.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        let b = &mut wait(1, || pool.get())[0];

        assert_eq!(panic_of(|| drop(a)).as_deref(), Some("a bad end"));
        drop(holder);
        b.expect_worker();
    }

    /// PN-3
    async fn a_clear_that_create_polls_is_pending_and_ends_that_creation<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let clear = Arc::new(Mutex::new(pool.clear()));
        let within = Arc::clone(&clear);
        once_on(&factory, Callback::Create, move |_| within.lock().unwrap().expect_pending());

        pool.get().expect_code(PoolErrorCode::Cleared);
        assert!(clear.lock().unwrap().is_woken());
        clear.lock().unwrap().expect_ready();
        assert_eq!((factory.created(), factory.live()), (1, 0));
        pool.get().expect_worker();
    }

    /// PN-3
    async fn is_work_may_clean_up<P: TestPool>() on General, Keyed, Classified, Any {
        let (pool, factory) = Setup::max(3).idle_timeout(10).open::<P>();
        let mut guards = pool.take(3);
        drop(guards.remove(0));
        tokio::time::advance(Duration::from_secs(10)).await;
        drop(guards.remove(0));
        let removed = Arc::new(AtomicUsize::new(0));
        let (within, sum) = (pool.clone(), Arc::clone(&removed));
        factory.on(Callback::IsWork, move |_| _ = sum.fetch_add(within.cleanup(), SeqCst));

        assert_eq!(pool.get().expect_worker().id(), 1);
        assert_eq!((removed.load(SeqCst), factory.destroyed()), (0, 1), "gone before the question");
        tokio::time::advance(Duration::from_secs(10)).await;
        drop(guards);
        assert_eq!(removed.load(SeqCst), 1);
        assert_eq!(factory.live(), 1);
    }

    /// PN-3
    async fn a_destructor_may_drop_another_guard<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).open::<P>();
        let (a, b) = (pool.get().expect_worker(), pool.get().expect_worker());
        let waiters = wait(2, || pool.get());
        a.state.kill();
        let other = Mutex::new(Some(b));
        once_on(&factory, Callback::Drop, move |_| drop(other.lock().unwrap().take()));

        drop(a);
        assert_eq!(woken(&waiters), [0, 1]);
        assert_eq!((factory.live(), factory.worker(0).is_destroyed.load(SeqCst)), (1, true));
    }

    /// PN-3
    async fn a_get_that_a_destructor_starts_waits_for_that_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        holder.state.kill();
        let started = Arc::new(Mutex::new(pool.get()));
        let within = Arc::clone(&started);
        once_on(&factory, Callback::Drop, move |_| within.lock().unwrap().expect_pending());

        drop(holder);
        let mut started = started.lock().unwrap();
        assert!(started.is_woken());
        assert_eq!(started.expect_worker().id(), 1);
    }

    /// PN-3
    async fn a_clear_that_a_destructor_polls_waits_for_that_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(1).open::<P>();
        let holder = pool.get().expect_worker();
        holder.state.kill();
        let clear = Arc::new(Mutex::new(pool.clear()));
        let within = Arc::clone(&clear);
        once_on(&factory, Callback::Drop, move |_| within.lock().unwrap().expect_pending());

        drop(holder);
        let mut clear = clear.lock().unwrap();
        assert!(clear.is_woken());
        clear.expect_ready();
    }

    /// PN-3
    async fn a_destructor_may_drop_the_last_handle_of_the_pool<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(3).open::<P>();
        let mut guards = pool.take(3);
        drop(guards.pop());
        guards[0].state.kill();
        let (is_gone, last) = (pool.probe(), Mutex::new(Some(pool)));
        once_on(&factory, Callback::Drop, move |_| drop(last.lock().unwrap().take()));

        drop(guards.remove(0));
        assert!(is_gone() && factory.live() == 1);
        drop(guards);
        assert_eq!(factory.live(), 0);
    }

    /// PN-3
    async fn a_destructor_that_blocks_keeps_its_slot_and_nobody_else<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = Setup::max(2).idle_timeout(10).open::<P>();
        let (a, b) = (pool.get().expect_worker(), pool.get().expect_worker());
        let waiters = &mut wait(2, || pool.get());
        a.state.kill();
        let door = Arc::new(Barrier::new(2));
        let inside = Arc::clone(&door);
        once_on(&factory, Callback::Drop, move |_| {
            inside.wait();
            inside.wait();
        });
        let blocked = thread::spawn(move || drop(a));
        door.wait();

        assert_eq!(woken(waiters), []);
        drop(b);
        assert_eq!(woken(waiters), [0]);
        let b = waiters[0].expect_worker();
        waiters[1].expect_pending();
        assert_eq!((b.id(), factory.calls(), pool.cleanup()), (1, 2, 0));

        door.wait();
        blocked.join().unwrap();
        assert_eq!(waiters[1].expect_worker().id(), 2);
    }
}

/// PN-1
#[test]
fn a_panic_in_the_match_with_a_waiter_is_answered_no() {
    watched(|| async {
        let (pool, factory) = Setup::max(3).max_per_class(1).open::<Classified>();
        let [holder, other, _third] = [1, 2, 3].map(|class| pool.get_of(class).expect_worker());
        let mut waiters = [2, 3].map(|class| pool.get_of(class));
        waiters.iter_mut().for_each(Call::expect_pending);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        factory.on(Callback::Serves, move |_| {
            assert_ne!(count.fetch_add(1, SeqCst), 1, "the second question is the match");
        });

        drop(holder);
        assert!(woken(&waiters).is_empty());
        assert_eq!((asked.load(SeqCst), factory.live()), (2, 2), "it is asked no more, and goes");
        drop(other);
        assert_eq!(waiters[0].expect_worker().id(), 1);
    });
}

/// PN-3
#[test]
fn who_was_served_is_woken_before_another_worker_is_asked() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).max_per_class(1).open::<Classified>();
        let holder = Mutex::new(Some(pool.get_of(1).expect_worker()));
        drop(pool.get_of(2).expect_worker());
        factory.worker(1).kill();
        // While the dead one is destroyed a request for its class comes, and the other one is idle.
        let (within, served) = (pool.clone(), Arc::new(Mutex::new(None)));
        let waiter = Arc::clone(&served);
        once_on(&factory, Callback::Drop, move |_| {
            let mut call = within.get_of(2);
            call.expect_pending();
            *waiter.lock().unwrap() = Some(call);
            drop(holder.lock().unwrap().take());
        });
        let (waiter, was_woken) = (Arc::clone(&served), Arc::new(Mutex::new(None)));
        let seen = Arc::clone(&was_woken);
        factory.on(Callback::IsWork, move |_| {
            if let Ok(waiter) = waiter.try_lock() {
                *seen.lock().unwrap() = waiter.as_ref().map(Call::is_woken);
            }
        });

        let guard = pool.get_any().expect_worker();
        assert_eq!((guard.id(), *was_woken.lock().unwrap()), (0, Some(true)));
    });
}

/// PN-1
#[test]
fn an_eviction_whose_victim_panics_costs_its_get_alone() {
    watched(|| async {
        let (pool, factory) = Setup::max(2).open::<Classified>();
        drop(pool.take(2));
        once_on(&factory, Callback::Drop, |_| panic!("a bad end"));

        let mut a = pool.get_of(2);
        assert_eq!(panic_of(|| _ = a.poll()).as_deref(), Some("a bad end"));
        assert_eq!(factory.destroyed(), 1);
        let held = [ONE, 2].map(|class| pool.get_of(class).expect_worker());
        assert_eq!((held[0].id(), factory.live()), (1, 2));
    });
}

/// PN-2
#[test]
fn a_worker_and_its_key_that_both_panic_as_they_go_do_not_abort() {
    alone("a_worker_and_its_key_that_both_panic_as_they_go_do_not_abort", || async {
        mines::sweep::<mines::Keyed>(Place::WorkerDrop, Some(Place::KeyDrop)).await;
        mines::sweep::<mines::Classified>(Place::WorkerDrop, Some(Place::KeyDrop)).await;
    });
}

/// PN-1
#[test]
fn the_class_of_a_new_worker_that_is_given_up_costs_no_slot_when_it_panics() {
    watched(|| async {
        mines::hush();
        for passes in 0.. {
            let tally = Arc::new(mines::Tally::default());
            let factory = mines::Barracks(Arc::clone(&tally));
            let pool = mines::Any::open(factory, PoolOptions::default());
            tally.shut(mines::Job::Create);
            let mut request = pool.get(0);
            assert!(mines::poll(&mut request).is_pending());
            pool.invalidate();
            tally.open();
            mines::lay([(Place::KeyDrop, passes)]);
            drop(panic::catch_unwind(panic::AssertUnwindSafe(|| mines::poll(&mut request))));
            let has_gone_off = mines::disarm().is_empty();
            drop(request);
            mines::check(&pool);
            if !has_gone_off {
                return assert!(passes > 3, "keys are dropped");
            }
        }
    });
}

/// Makes the thread-local of tokio, if the thread has none yet.
fn touch_tokio() {
    drop(tokio::runtime::Handle::try_current());
}

/// PN-2: tokio's clock, once it was paused, panics where tokio's own thread-local has gone.
#[test]
fn a_guard_dropped_by_a_thread_local_does_not_abort() {
    thread_local! {
        static KEPT: Cell<Option<<General as TestPool>::Guard>> = const { Cell::new(None) };
    }
    alone("a_guard_dropped_by_a_thread_local_does_not_abort", || async move {
        for tokio_is_first in [true, false] {
            let (pool, _factory) = Setup::max(1).idle_timeout(10).open::<General>();
            let guard = pool.get().expect_worker();
            let ends = thread::spawn(move || {
                if tokio_is_first {
                    touch_tokio();
                }
                KEPT.set(Some(guard));
                touch_tokio();
            });
            ends.join().unwrap();
            assert_eq!(pool.get().expect_worker().id(), 0);
        }
    });
}

/// PN-1
#[test]
fn a_class_whose_hash_changes_is_not_created_for_ever() {
    watched(|| async {
        let factory = FickleFactory::default();
        let config =
            ClassifiedWorkerPoolConfig::default().with_max_count_per_classification(Some(1));
        let pool = ClassifiedWorkerPool::new(factory.clone(), config);
        let get = || {
            let pool = pool.clone();
            Call::new(async move { pool.get_worker().await })
        };
        let _first = get().expect_worker();
        FICKLE_HASHES.store(0, SeqCst);
        get().expect_pending();
        assert_eq!(factory.0.load(SeqCst), 2);
    });
}

static FICKLE_HASHES: AtomicUsize = AtomicUsize::new(0);

/// A class whose hash is 0 and 1 by turns.
#[derive(Clone, PartialEq, Eq)]
struct Fickle;

struct FickleWorker;

/// Counts its calls.
#[derive(Clone, Default)]
struct FickleFactory(Arc<AtomicUsize>);

impl Hash for Fickle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (FICKLE_HASHES.fetch_add(1, SeqCst) % 2).hash(state);
    }
}

impl ClassifiedWorker<Fickle> for FickleWorker {
    fn is_work(&self) -> bool {
        true
    }

    fn is_valid(&self, _class: Fickle) -> bool {
        true
    }

    fn classification(&self) -> Fickle {
        Fickle
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<Fickle, FickleWorker> for FickleFactory {
    async fn create(&self, _class: Option<Fickle>) -> PoolResult<FickleWorker> {
        assert!(self.0.fetch_add(1, SeqCst) < 1000, "created for ever");
        Ok(FickleWorker)
    }
}

/// How the idle workers of a pool meet their end together.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Cleanup,
    Clear,
    Drop,
}

impl Ending {
    fn run<P: TestPool>(self, pool: &mut Option<P>) {
        match self {
            Self::Cleanup => _ = pool.as_ref().map(P::cleanup),
            Self::Clear => _ = pool.as_ref().map(|pool| pool.clear().poll()),
            Self::Drop => *pool = None,
        }
    }
}

/// Runs `hook` at the next call of `callback` alone.
fn once_on(factory: &Factory, callback: Callback, hook: impl FnOnce(usize) + Send + 'static) {
    let hook = Mutex::new(Some(hook));
    factory.on(callback, move |id| {
        let hook = hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook(id);
        }
    });
}

/// The questions that this pool puts to a worker about itself.
fn questions<P: TestPool>() -> &'static [Callback] {
    let all = &[Callback::IsWork, Callback::Names, Callback::Serves];
    let has_keys = TypeId::of::<P>() != TypeId::of::<General>();
    if has_keys { all } else { &all[..1] }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on its way out");
    }
}

fn serves_two<P: TestPool>(pool: &P) {
    let held = pool.take(2);
    wait(1, || pool.get());
    drop(held);
}

/// A waker with these for a wake and a destructor.
fn hooked(wake: fn(), drop: fn()) -> Waker {
    struct Hooked(fn(), fn());
    impl Wake for Hooked {
        fn wake(self: Arc<Self>) {
            self.0();
        }
    }
    impl Drop for Hooked {
        fn drop(&mut self) {
            self.1();
        }
    }
    Waker::from(Arc::new(Hooked(wake, drop)))
}
