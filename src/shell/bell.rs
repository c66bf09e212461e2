//! What wakes a waiter: `notify-future`'s one-shot, or a stand-in that a model checker sees into.

use std::sync::Arc;

use super::Trade;
use super::clear::Clearance;
use super::keeper::Keeper;

#[cfg(not(loom))]
pub(super) use notify_future::{Notify, NotifyWaiter};

#[cfg(loom)]
pub(super) use self::stand_in::{Notify, NotifyWaiter};

/// What the scheduler rings when there is something to collect, or no slot left.
pub(super) enum Bell<T: Trade> {
    Request(Notify<()>),
    Part(Arc<Clearance<T>>),
    Keeper(Arc<Keeper<T>>),
}

impl<T: Trade> Bell<T> {
    pub(super) fn ring(self) {
        match self {
            Self::Request(bell) => bell.notify(()),
            Self::Part(clearance) => clearance.part_is_empty(),
            Self::Keeper(keeper) => keeper.ring(),
        }
    }
}

#[cfg(loom)]
mod stand_in {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use loom::sync::{Arc, Mutex};

    struct State<R> {
        result: Option<R>,
        waker: Option<Waker>,
    }

    pub(crate) struct Notify<R>(Arc<Mutex<State<R>>>);

    pub(crate) struct NotifyWaiter<R>(Arc<Mutex<State<R>>>);

    #[allow(clippy::disallowed_methods, reason = "not a lock of the pool's")]
    fn with<R, O>(state: &Mutex<State<R>>, change: impl FnOnce(&mut State<R>) -> O) -> O {
        change(&mut state.lock().expect("nothing panics under this lock"))
    }

    impl<R> Notify<R> {
        pub(crate) fn new() -> (Self, NotifyWaiter<R>) {
            let state = Arc::new(Mutex::new(State { result: None, waker: None }));
            (Self(state.clone()), NotifyWaiter(state))
        }

        pub(crate) fn notify(self, result: R) {
            let waker = with(&self.0, |state| {
                state.result = Some(result);
                state.waker.take()
            });
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    impl<R> Future for NotifyWaiter<R> {
        type Output = R;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
            with(&self.0, |state| match state.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            })
        }
    }
}
