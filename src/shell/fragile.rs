use std::ops::{Deref, DerefMut};

use super::aftermath::Aftermath;

/// Something of the user's that is held while other code of the user's runs. Should that panic, it is
/// dropped while the thread unwinds, when a panic in its own destructor must not go on: two at a time
/// abort.
pub(crate) struct Fragile<W>(Option<W>);

const HELD: &str = "it holds its worker until that is taken out";

impl<W> Fragile<W> {
    pub(crate) fn new(worker: W) -> Self {
        Self(Some(worker))
    }

    pub(crate) fn into_inner(mut self) -> W {
        self.0.take().expect(HELD)
    }
}

impl<W> Deref for Fragile<W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.0.as_ref().expect(HELD)
    }
}

impl<W> DerefMut for Fragile<W> {
    fn deref_mut(&mut self) -> &mut W {
        self.0.as_mut().expect(HELD)
    }
}

impl<W> Drop for Fragile<W> {
    fn drop(&mut self) {
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(self.0.take()));
        aftermath.resume();
    }
}
