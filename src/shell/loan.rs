use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;

use super::aftermath::{Aftermath, ask};
use super::{BookEffects, Books, Errands, Filed, Fragile, Shell, Trade, Unit};
use crate::PoolDestroyReason as Reason;
use crate::scheduler::{Record, ReturnPlan, Slot};

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

impl<T: Trade> Loan<T> {
    pub(super) fn slot(&self) -> &Slot {
        &self.0.as_ref().expect(HELD).slot
    }

    /// Says who holds the worker, if that is kept.
    pub(crate) fn set_label(&self, label: Cow<'static, str>) {
        let Held { slot, shell, .. } = self.0.as_ref().expect(HELD);
        if shell.is_watched {
            shell.books.with(|books| books.set_label(slot, label));
        }
    }

    /// The worker and its slot, for whoever gives them back.
    pub(super) fn into_parts(mut self) -> (Unit<T>, Slot) {
        let Held { unit, slot, .. } = self.0.take().expect(HELD);
        (unit, slot)
    }

    /// Takes the worker out of the pool, and frees its slot.
    pub(crate) fn detach(mut self) -> T::Worker {
        let Held { unit, slot, shell } = self.0.take().expect(HELD);
        let Filed { worker, key } = unit;
        let (worker, slot) = (Fragile::new(worker), slot.because(Reason::Detached));
        shell.returned(&slot);
        shell.gone(&slot);
        let mut aftermath = shell.free(slot);
        aftermath.run(|| drop(key));
        // The last one out drops the factory.
        aftermath.run(|| drop(shell));
        aftermath.resume_instead_of(worker).into_inner()
    }

    /// Destroys the worker, well or not.
    pub(crate) fn discard(mut self) {
        let Held { unit, slot, shell } = self.0.take().expect(HELD);
        shell.returned(&slot);
        let mut aftermath = shell.destroy(unit, slot.because(Reason::Discarded));
        aftermath.run(|| drop(shell));
        aftermath.resume();
    }

    /// What is kept of the worker, and the time, if anything is.
    pub(crate) fn record(&self) -> Option<(Record, u64)> {
        let Held { slot, shell, .. } = self.0.as_ref().expect(HELD);
        let record = shell.books.with(|books| books.record(slot))?;
        Some((record, shell.clock.now()))
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
        if let Some(held) = self.0.take() {
            if held.shell.is_watched { held.give_back_before_eyes() } else { held.give_back() }
        }
    }
}

impl<T: Trade> Held<T> {
    #[inline]
    fn give_back(self) {
        let Self { unit, slot, shell } = self;
        let mut aftermath = shell.take_back(unit, slot);
        // The last one out drops the factory.
        aftermath.run(|| drop(shell));
        aftermath.resume();
    }

    #[cold]
    #[inline(never)]
    fn give_back_before_eyes(self) {
        self.shell.returned(&self.slot);
        self.give_back();
    }
}

impl<T: Trade> Shell<T> {
    #[inline]
    fn take_back(self: &Arc<Self>, unit: Unit<T>, slot: Slot) -> Aftermath {
        // A worker that a panic has left in the middle of something is not to be trusted.
        let is_half_used = thread::panicking() && !self.policy.keeps_on_panic;
        if is_half_used {
            return self.destroy(unit, slot.because(Reason::Panicked));
        }
        match ask(|| T::is_well(&unit)) {
            Ok(true) => {}
            Ok(false) => return self.destroy(unit, slot),
            Err(_) => return self.destroy(unit, slot.because(Reason::Panicked)),
        }
        let now = self.clock.now();
        // Most returns leave nothing to do, and need nothing to see to it.
        let mut effects = Errands::nothing();
        let question = self
            .with(&mut effects, |books, effects| Self::give_back(books, unit, slot, now, effects));
        // It ends here, as that of any question in a guard's drop.
        drop(question);
        if effects.is_empty() { Aftermath::default() } else { Errands::of(effects, self).run() }
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
        let (plan, question) = Self::plan_return(books, &unit, &slot, now);
        books.commit_return(plan, slot, unit, now, effects);
        question
    }

    /// Asks for whom a worker is that comes back.
    #[inline]
    pub(super) fn plan_return(
        books: &Books<T>,
        unit: &Unit<T>,
        slot: &Slot,
        now: u64,
    ) -> (ReturnPlan, Aftermath) {
        let mut question = Aftermath::default();
        let plan = books.plan_return(slot, unit, now, |unit, key| {
            // One that has panicked is not asked again.
            question.is_none()
                && ask(|| T::serves(unit, key)).unwrap_or_else(|panic| {
                    question = panic;
                    false
                })
        });
        let plan = if question.is_none() { plan } else { ReturnPlan::Destroy(Reason::Panicked) };
        (plan, question)
    }
}
