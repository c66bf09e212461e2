use std::sync::Arc;

use super::{Fragile, Loan, Shell, Trade, Unit};
use crate::scheduler::{Birth, Slot};

/// A slot without a worker that could be used: one that is to be created, or after one was found
/// dead. Dropping it destroys what is left of the worker, and gives the slot back.
pub(super) struct Vacancy<T: Trade> {
    remains: Option<Unit<T>>,
    slot: Option<Slot>,
    shell: Arc<Shell<T>>,
}

/// What became of a new worker.
pub(super) enum Filled<T: Trade> {
    Loan(Loan<T>),
    /// It has to go, for the bucket of this key is full; the slot may serve for another try.
    Full(Vacancy<T>, T::Key),
    /// Destroyed, for a clear had begun.
    Cleared,
}

const HELD: &str = "a vacancy holds its slot until it is dropped";

impl<T: Trade> Vacancy<T> {
    pub(super) fn new(slot: Slot, shell: &Arc<Shell<T>>) -> Self {
        Self { remains: None, slot: Some(slot), shell: Arc::clone(shell) }
    }

    pub(super) fn with_remains(unit: Unit<T>, slot: Slot, shell: Arc<Shell<T>>) -> Self {
        Self { remains: Some(unit), slot: Some(slot), shell }
    }

    /// Destroys what is left of the worker, so that the slot can be used.
    pub(super) fn bury_remains(&mut self) {
        drop(self.remains.take());
    }

    pub(super) fn slot(&mut self) -> &mut Option<Slot> {
        &mut self.slot
    }

    /// Puts a new worker in. `for_any`: it was created for a request that named no key.
    pub(super) fn fill(mut self, unit: Unit<T>, for_any: bool) -> Filled<T> {
        let unit = Fragile::new(unit);
        let key = for_any.then(|| unit.key.clone());
        let mut spare_key = key.clone();
        let hashed = key.as_ref().map(|key| (self.shell.hash(key), key));
        let shell = Arc::clone(&self.shell);
        let mut errands = shell.errands();
        let birth = shell.books.with(|books| {
            let slot = self.slot.as_mut().expect(HELD);
            books.created(slot, hashed, &mut spare_key, &mut errands.effects)
        });
        match (birth, key) {
            (Birth::Welcome, key) => {
                let loan = Loan::new(unit.into_inner(), self.slot.take().expect(HELD), &shell);
                drop((key, spare_key));
                Filled::Loan(errands.run_before(loan))
            }
            (Birth::Full, Some(key)) => {
                self.remains = Some(unit.into_inner());
                drop(spare_key);
                Filled::Full(self, key)
            }
            (Birth::Full | Birth::Cleared, _) => {
                drop(unit);
                Filled::Cleared
            }
        }
    }
}

impl<T: Trade> Drop for Vacancy<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let aftermath = match self.remains.take() {
                Some(unit) => self.shell.destroy(unit, slot),
                None => self.shell.free(slot),
            };
            aftermath.resume();
        }
    }
}
