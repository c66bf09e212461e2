use std::sync::Arc;

use super::acquire::Hashed;
use super::{Filed, Fragile, Loan, Shell, Trade, Unit};
use crate::scheduler::{Birth, Slot};

/// A slot in which a worker may be created. Dropping it gives the slot back.
pub(super) struct Vacancy<T: Trade> {
    slot: Option<Slot>,
    shell: Arc<Shell<T>>,
}

/// What became of a new worker.
pub(super) enum Filled<T: Trade> {
    Loan(Loan<T>),
    /// Destroyed, for the bucket of this key is full. This is the slot, for another try.
    Full(Slot, Hashed<T::Key>),
    /// Destroyed, for a clear had begun.
    Cleared,
}

const HELD: &str = "a vacancy holds its slot until it is dropped";

impl<T: Trade> Vacancy<T> {
    pub(super) fn new(slot: Slot, shell: &Arc<Shell<T>>) -> Self {
        Self { slot: Some(slot), shell: Arc::clone(shell) }
    }

    /// Puts a new worker in. `for_any`: it was created for a request that named no key.
    pub(super) fn fill(mut self, unit: Unit<T>, for_any: bool) -> Filled<T> {
        // Each on its own: both may panic when they are dropped.
        let (worker, key) = (Fragile::new(unit.worker), Fragile::new(unit.key));
        let class = for_any.then(|| Hashed::new(T::Key::clone(&key), &self.shell.hasher));
        let mut spare_key = Fragile::new(class.as_ref().map(|class| T::Key::clone(&class.key)));
        let bucket = class.as_ref().map(|class| (class.hash, &*class.key));
        let shell = Arc::clone(&self.shell);
        let mut errands = shell.errands();
        let birth = shell.books.with(|books| {
            let slot = self.slot.as_mut().expect(HELD);
            books.created(slot, bucket, &mut spare_key, &mut errands.effects)
        });
        match (birth, class) {
            (Birth::Welcome, class) => {
                let unit = Filed { worker: worker.into_inner(), key: key.into_inner() };
                let loan = Loan::new(unit, self.slot.take().expect(HELD), &shell);
                drop((class, spare_key));
                Filled::Loan(errands.run_before(loan))
            }
            (Birth::Full, Some(class)) => {
                drop((worker, key, spare_key));
                Filled::Full(self.slot.take().expect(HELD), class)
            }
            (Birth::Full | Birth::Cleared, _) => {
                drop((worker, key, spare_key));
                Filled::Cleared
            }
        }
    }
}

impl<T: Trade> Drop for Vacancy<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.shell.free(slot).resume();
        }
    }
}
