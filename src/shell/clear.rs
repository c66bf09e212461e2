use super::bell::Notify;
use super::{Shell, Trade};
use crate::scheduler::ClearId;

/// A clear that somebody waits for. Dropping it before the end abandons the clear.
struct Clearing<'a, T: Trade> {
    id: ClearId,
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
        let clearing = id.map(|id| Clearing { id, shell: self });
        drop(errands);
        if clearing.is_some() {
            listener.await;
        }
    }
}

impl<T: Trade> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        let bell = self.shell.books.with(|books| books.abandon_clear(self.id));
        drop(bell);
    }
}
