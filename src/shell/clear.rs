use std::pin::Pin;
use std::task::{Context, Poll};

use super::aftermath::Aftermath;
use super::bell::{Notify, NotifyWaiter};
use super::{Shell, Trade};
use crate::scheduler::ClearId;

/// A clear that somebody waits for. Dropping it before the end abandons the clear.
struct Clearing<'a, T: Trade> {
    id: ClearId,
    /// `None` once it is being dropped.
    listener: Option<NotifyWaiter<()>>,
    shell: &'a Shell<T>,
}

impl<T: Trade> Shell<T> {
    /// Destroys every worker, and returns when the last destructor has.
    pub(crate) async fn clear(&self) {
        let (bell, listener) = Notify::new();
        let mut bell = Some(bell);
        let mut errands = self.errands();
        let id = self.books.with(|books| books.clear(&mut bell, &mut errands.effects));
        // Before anything can panic, so that the pool opens again if it does.
        let clearing = id.map(|id| Clearing { id, listener: Some(listener), shell: self });
        drop(errands);
        if let Some(clearing) = clearing {
            clearing.await;
        }
    }
}

const HEARD: &str = "a clear listens until it is dropped";

impl<T: Trade> Future for Clearing<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(self.listener.as_mut().expect(HEARD)).poll(cx)
    }
}

impl<T: Trade> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        let bell = self.shell.books.with(|books| books.abandon_clear(self.id));
        // Between them these own the waker of the task that has gone.
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(bell));
        aftermath.run(|| drop(self.listener.take()));
        aftermath.resume();
    }
}
