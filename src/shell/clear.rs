use std::pin::Pin;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};

use super::aftermath::Aftermath;
use super::bell::{Bell, Notify, NotifyWaiter};
use super::lock::Lock;
use super::{Handle, Shell, Trade};
use crate::scheduler::ClearId;

/// A clear of all parts of a pool, which are closed until none of them has a slot left.
pub(super) struct Clearance<T: Trade> {
    id: ClearId,
    /// How many parts have slots still.
    left: AtomicUsize,
    parts: Vec<Weak<Shell<T>>>,
    bell: Lock<Option<Notify<()>>>,
}

impl<T: Trade> Clearance<T> {
    /// Another part has no slot left.
    pub(super) fn part_is_empty(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut aftermath = self.open();
            if let Some(bell) = self.bell.with(Option::take) {
                aftermath.run(|| bell.notify(()));
            }
            aftermath.resume();
        }
    }

    /// Opens the parts again, but for other clears.
    fn open(&self) -> Aftermath {
        let mut aftermath = Aftermath::default();
        for part in self.parts.iter().filter_map(Weak::upgrade) {
            let mut errands = part.errands();
            let unrung = part.books.with(|books| books.end_clear(self.id, &mut errands.effects));
            aftermath.then(errands.run());
            drop(errands);
            aftermath.run(|| drop(unrung));
            // The last one out drops the factory.
            aftermath.run(|| drop(part));
        }
        aftermath
    }
}

/// A clear that somebody waits for. Dropping it before the end abandons the clear.
struct Clearing<T: Trade> {
    /// `None` once it is being dropped.
    listener: Option<NotifyWaiter<()>>,
    clearance: Arc<Clearance<T>>,
}

/// A clear that has begun, and the first panic of a destructor on the way.
pub(super) struct Begun<T: Trade> {
    clearing: Clearing<T>,
    aftermath: Aftermath,
    /// Whether the pool was open before, and is closed for good.
    pub(super) is_end: bool,
}

impl<T: Trade> Begun<T> {
    /// Returns when the last destructor has.
    pub(super) async fn finish(self) {
        self.aftermath.resume();
        self.clearing.await;
    }
}

impl<T: Trade> Handle<T> {
    /// Destroys every worker, and returns when the last destructor has.
    pub(crate) async fn clear(&self) {
        self.begin_clear(false).finish().await;
        self.whole().tell(None, None, |it, origin| it.cleared(origin));
    }

    /// `is_final`: the pool is closed, and never opens again.
    pub(super) fn begin_clear(&self, is_final: bool) -> Begun<T> {
        let (bell, listener) = Notify::new();
        let clearance = Arc::new(Clearance {
            id: self.next_clear(),
            left: AtomicUsize::new(self.parts().len()),
            parts: self.parts().iter().map(Arc::downgrade).collect(),
            bell: Lock::new(Some(bell)),
        });
        // Before anything can panic, so that the pool opens again if it does.
        let clearing = Clearing { listener: Some(listener), clearance: Arc::clone(&clearance) };
        let mut is_end = false;
        let aftermath = self.with_all(|books, effects| {
            is_end = is_final && books.close();
            books.begin_clear(clearance.id, Bell::Part(Arc::clone(&clearance)), effects);
        });
        Begun { clearing, aftermath, is_end }
    }
}

const HEARD: &str = "a clear listens until it is dropped";

impl<T: Trade> Future for Clearing<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(self.listener.as_mut().expect(HEARD)).poll(cx)
    }
}

impl<T: Trade> Drop for Clearing<T> {
    fn drop(&mut self) {
        let mut aftermath = self.clearance.open();
        // Between them these own the waker of the task that has gone.
        let bell = self.clearance.bell.with(Option::take);
        aftermath.run(|| drop(bell));
        aftermath.run(|| drop(self.listener.take()));
        aftermath.resume();
    }
}
