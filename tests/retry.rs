//! A creation that fails with a transient error is tried again, as long as somebody wants it.

mod common;

use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use sfo_pool::PoolErrorCode::{Cleared, Failed, Timeout};
use sfo_pool::PoolRetry;
use tokio::time::advance;

use common::*;

const STEP: Duration = Duration::from_millis(100);

/// Tries again so often after an error that says "busy", and first in 1 to 2 seconds.
fn busy(count: usize) -> PoolRetry {
    PoolRetry::new(|error| error.msg() == "busy")
        .with_max_retry_count(count)
        .with_first_delay(secs(1))
}

fn retrying(max: u16, retry: PoolRetry) -> Setup {
    Setup::max(max).with(|options| options.with_creation_retry(Some(retry)))
}

/// Lets the time go by until there is another call of `create`, and returns how long that took.
async fn pause<T>(call: &mut Call<T>, factory: &Factory) -> Duration {
    let (calls, mut pause) = (factory.calls(), Duration::ZERO);
    while factory.calls() == calls {
        call.expect_pending();
        advance(STEP).await;
        pause += STEP;
        _ = call.is_woken() && call.poll().is_ready();
    }
    pause
}

laws! {
    async fn a_transient_error_is_tried_again_after_growing_pauses<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let retry = busy(4).with_max_delay(secs(4));
        let (pool, factory) = retrying(1, retry).open::<P>();
        factory.always(Some(Outcome::Error("busy")));
        let mut call = pool.get();
        call.expect_pending();
        assert_eq!(factory.calls(), 1);
        for shortest in [1, 2, 4] {
            let pause = pause(&mut call, &factory).await;
            assert!(secs(shortest) <= pause && pause <= secs(2 * shortest) + STEP, "{pause:?}");
        }
        factory.always(None);
        let mut guard = None;
        for _ in 0..=80 {
            if let Poll::Ready(result) = call.poll() {
                guard = result.ok();
                break;
            }
            advance(STEP).await;
        }
        assert_eq!((guard.unwrap().id(), factory.calls()), (0, 5));
    }

    async fn who_failed_together_does_not_come_back_together<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(64, busy(1)).max_creations(64).open::<P>();
        factory.always(Some(Outcome::Error("busy")));
        let mut calls = wait(64, || pool.get());
        factory.gate();
        factory.always(None);
        advance(Duration::from_millis(1500)).await;
        calls.iter_mut().for_each(Call::expect_pending);
        let early = factory.calls() - 64;
        assert!(0 < early && early < 64, "{early} of them");
    }

    async fn any_other_error_is_its_callers_at_once<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(1, busy(9)).open::<P>();
        factory.next(Outcome::Error("wrong password"));
        let error = pool.get().expect_error();
        assert_eq!((error.code(), error.msg(), factory.calls()), (Failed, "wrong password", 1));
        assert_eq!(pool.status().total, 0);
    }

    async fn after_the_last_attempt_its_error_is_the_callers<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        for count in [0, 2] {
            let (pool, factory) = retrying(1, busy(count).with_first_delay(Duration::ZERO)).open::<P>();
            factory.always(Some(Outcome::Error("busy")));
            let mut call = pool.get();
            let error = loop {
                if let Poll::Ready(result) = call.poll() {
                    break result.err().unwrap();
                }
                advance(STEP).await;
            };
            assert_eq!((error.code(), error.msg()), (Failed, "busy"));
            assert_eq!((factory.calls(), pool.status().total), (count + 1, 0));
        }
    }

    async fn a_request_keeps_its_slot_while_it_pauses<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(1, busy(1)).open::<P>();
        factory.next(Outcome::Error("busy"));
        let mut calls = wait(2, || pool.get());
        let status = pool.status();
        assert_eq!((factory.calls(), status.creating, status.waiting), (1, 1, 1));
        advance(secs(2)).await;
        drop(calls[0].expect_worker());
        assert_eq!((calls[1].expect_worker().id(), factory.calls()), (0, 2));
    }

    async fn nothing_is_tried_any_more_when_the_time_is_over<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(1, busy(100)).acquire_timeout(10).open::<P>();
        factory.always(Some(Outcome::Error("busy")));
        let mut call = pool.get();
        for _ in 0..99 {
            call.expect_pending();
            advance(STEP).await;
        }
        call.expect_pending();
        advance(STEP).await;
        call.expect_code(Timeout);
        let calls = factory.calls();
        assert!((3..=4).contains(&calls), "{calls} calls");
        advance(secs(3600)).await;
        assert_eq!((factory.calls(), pool.status().total), (calls, 0));
    }

    async fn nothing_is_tried_any_more_for_a_request_that_was_dropped<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(1, busy(100)).open::<P>();
        factory.next(Outcome::Error("busy"));
        let mut calls = wait(2, || pool.get());
        drop(calls.remove(0));
        assert!(calls[0].is_woken());
        assert_eq!(factory.calls(), 1);
        calls[0].expect_worker();
        advance(secs(3600)).await;
        assert_eq!(factory.calls(), 2);
    }

    async fn a_predicate_that_panics_costs_no_slot<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let retry = PoolRetry::new(|error| panic!("what is {}?", error.msg()));
        let (pool, factory) = retrying(1, retry).open::<P>();
        factory.gate();
        let mut calls = wait(2, || pool.get());
        factory.end(Outcome::Error("that"));
        assert_eq!(panic_of(|| _ = calls[0].poll()).as_deref(), Some("what is that?"));
        assert!(calls[1].is_woken());
        factory.open_gate();
        assert_eq!((calls[1].expect_worker().id(), pool.status().total), (0, 1));
    }

    /// CR-5
    async fn there_are_so_many_attempts_for_each_request_and_none_for_nobody<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(20, busy(3)).open::<P>();
        factory.always(Some(Outcome::Error("busy")));
        let mut calls = wait(20, || pool.get());
        for _ in 0..20 {
            advance(secs(1)).await;
            calls.retain_mut(|call| call.poll().is_pending());
        }
        assert!(calls.is_empty());
        assert_eq!((factory.calls(), pool.status().total), (80, 0));
        advance(secs(3600)).await;
        assert_eq!(factory.calls(), 80);
    }

    async fn a_worker_that_comes_after_a_clear_is_nobodys<P: TestPool>()
        on General, Keyed, Classified, Any
    {
        let (pool, factory) = retrying(1, busy(1)).open::<P>();
        factory.next(Outcome::Error("busy"));
        let mut call = pool.get();
        call.expect_pending();
        let mut clear = pool.clear();
        clear.expect_pending();
        advance(secs(2)).await;
        call.expect_code(Cleared);
        clear.expect_ready();
        assert_eq!(factory.live(), 0);
    }

    async fn a_pool_with_a_retry_may_be_unwound_over<P: TestPool + UnwindSafe + RefUnwindSafe>()
        on General, Keyed, Classified, Any
    {
        let retry = PoolRetry::new(|_| panic!("a bad predicate"));
        let (pool, factory) = retrying(1, retry).open::<P>();
        factory.next(Outcome::Error("that"));
        assert!(catch_unwind(|| _ = pool.get().poll()).is_err());
        pool.get().expect_worker();
    }
}
