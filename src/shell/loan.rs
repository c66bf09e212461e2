use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;

use super::aftermath::{Aftermath, ask};
use super::{BookEffects, Books, Shell, Trade, Unit};
use crate::scheduler::{ReturnPlan, Slot};

/// A borrowed worker. Dropping it gives the worker back.
pub(crate) struct Loan<T: Trade>(Option<Held<T>>);

/// In one `Option`, so that the pointer's niche says whether the worker is there.
struct Held<T: Trade> {
    unit: Unit<T>,
    slot: Slot,
    shell: Arc<Shell<T>>,
}

const HELD: &str = "a loan holds its worker until it is dropped";

impl<T: Trade> Loan<T> {
    #[inline]
    pub(super) fn new(unit: Unit<T>, slot: Slot, shell: &Arc<Shell<T>>) -> Self {
        Self(Some(Held { unit, slot, shell: Arc::clone(shell) }))
    }
}

impl<T: Trade> Deref for Loan<T> {
    type Target = Unit<T>;

    fn deref(&self) -> &Self::Target {
        &self.0.as_ref().expect(HELD).unit
    }
}

impl<T: Trade> DerefMut for Loan<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0.as_mut().expect(HELD).unit
    }
}

impl<T: Trade> Drop for Loan<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(Held { unit, slot, shell }) = self.0.take() {
            let mut aftermath = shell.take_back(unit, slot);
            // The last one out drops the factory.
            aftermath.run(|| drop(shell));
            aftermath.resume();
        }
    }
}

impl<T: Trade> Shell<T> {
    #[inline]
    fn take_back(&self, unit: Unit<T>, slot: Slot) -> Aftermath {
        // A worker that a panic has left in the middle of something is not to be trusted.
        if thread::panicking() || !ask(|| T::is_well(&unit)).unwrap_or(false) {
            return self.destroy(unit, slot);
        }
        let now = self.clock.now();
        let mut errands = self.errands();
        let effects = &mut errands.effects;
        let question = self.books.with(|books| Self::give_back(books, unit, slot, now, effects));
        // It ends here, as that of any question in a guard's drop.
        drop(question);
        errands.run()
    }

    /// Passes a worker that is well on to whom it is for, under the lock. Returns the panic of a
    /// question, which the worker did not survive.
    #[inline]
    pub(super) fn give_back(
        books: &mut Books<T>,
        unit: Unit<T>,
        slot: Slot,
        now: u64,
        effects: &mut BookEffects<T>,
    ) -> Aftermath {
        let mut question = Aftermath::default();
        let mut plan = books.plan_return(&slot, &unit, |unit, key| {
            // One that has panicked is not asked again.
            question.is_none()
                && ask(|| T::serves(unit, key)).unwrap_or_else(|panic| {
                    question = panic;
                    false
                })
        });
        if !question.is_none() {
            plan = ReturnPlan::Destroy;
        }
        books.commit_return(plan, slot, unit, now, effects);
        question
    }
}
