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
            let unrung = part.books.with(|books| books.end_clear(self.id));
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

impl<T: Trade> Handle<T> {
    /// Destroys every worker, and returns when the last destructor has.
    pub(crate) async fn clear(&self) {
        let (bell, listener) = Notify::new();
        let clearance = Arc::new(Clearance {
            id: self.next_clear(),
            left: AtomicUsize::new(self.parts().len()),
            parts: self.parts().iter().map(Arc::downgrade).collect(),
            bell: Lock::new(Some(bell)),
        });
        // Before anything can panic, so that the pool opens again if it does.
        let clearing = Clearing { listener: Some(listener), clearance: Arc::clone(&clearance) };
        let mut errands: Vec<_> = self.parts().iter().map(|part| part.errands()).collect();
        let mut effects = errands.iter_mut().map(|errands| &mut errands.effects);
        Lock::with_all(self.parts().iter().map(|part| &part.books), |books| {
            let effects = effects.next().expect("as many as there are parts");
            books.begin_clear(clearance.id, Bell::Part(Arc::clone(&clearance)), effects);
        });
        let mut aftermath = Aftermath::default();
        for errands in &mut errands {
            aftermath.then(errands.run());
        }
        drop((errands, clearance));
        aftermath.resume();
        clearing.await;
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
