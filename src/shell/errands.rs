use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::aftermath::Aftermath;
use super::{BookEffects, Books, Shell, Trade};
use crate::scheduler::{Doomed, Effect, Effects};

/// What an event left to do outside the lock. It is done at the latest when this is dropped, so
/// that a panic on the way cannot lose a bell or a slot.
///
/// Never leave it to the end of a function that returns a token: should a destructor of a local
/// panic there, the compiler forgets the returned value without dropping it.
pub(super) struct Errands<'a, T: Trade> {
    /// Empty whenever this is dropped; the compiler need not look into it.
    pub(super) effects: ManuallyDrop<BookEffects<T>>,
    shell: &'a Arc<Shell<T>>,
}

impl<T: Trade> Shell<T> {
    #[inline]
    pub(super) fn errands(self: &Arc<Self>) -> Errands<'_, T> {
        Errands::of(Errands::nothing(), self)
    }
}

impl<'a, T: Trade> Errands<'a, T> {
    #[inline]
    pub(super) fn nothing() -> ManuallyDrop<BookEffects<T>> {
        ManuallyDrop::new(Effects::None)
    }

    /// Those of an event that can't have panicked since it began to change anything.
    #[inline]
    pub(super) fn of(effects: ManuallyDrop<BookEffects<T>>, shell: &'a Arc<Shell<T>>) -> Self {
        Self { effects, shell }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Rings, then destroys, and serves whom that serves: all of it, whatever panics.
    #[inline]
    pub(super) fn run(&mut self) -> Aftermath {
        if self.effects.is_empty() { Aftermath::default() } else { self.run_all() }
    }

    /// Rings alone, before anything else is asked of the user.
    pub(super) fn ring(&mut self) -> Aftermath {
        let mut aftermath = Aftermath::default();
        if !self.effects.is_empty() {
            self.effects.drain_bells(|bell| aftermath.run(|| bell.ring()));
        }
        aftermath
    }

    /// Runs them before a caller is given what it asked for.
    #[inline]
    pub(super) fn run_before<R>(&mut self, given: R) -> R {
        self.run().resume_instead_of(given)
    }

    #[cold]
    fn run_all(&mut self) -> Aftermath {
        let mut aftermath = self.ring();
        if self.effects.is_empty() {
            return aftermath;
        }
        let mut destructors = VecDeque::new();
        loop {
            aftermath.then(self.ring());
            self.effects.drain(|destructor| destructors.push_back(destructor));
            match destructors.pop_front() {
                Some(Effect::Destroy(doomed)) => {
                    let Err(doomed) = self.shell.bury(doomed) else { continue };
                    let Doomed { value, slot, heir } = doomed;
                    value.destroy(&mut aftermath);
                    self.shell.gone(&slot);
                    let free = |books: &mut Books<T>, effects: &mut BookEffects<T>| {
                        books.free(slot, heir, effects);
                    };
                    self.shell.with(&mut self.effects, free);
                }
                Some(Effect::DropKey(key)) => aftermath.run(|| drop(key)),
                Some(Effect::Ring(_)) | None => return aftermath,
            }
        }
    }
}

impl<T: Trade> Drop for Errands<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            self.run_all().resume();
        }
    }
}
