use std::mem;
use std::sync::Arc;

use super::aftermath::Aftermath;
use super::{Loan, Shell, Trade, Unit};
use crate::scheduler::{Doomed, How, Slot, Standing};

/// Workers that a request was given in vain, and the slots that it holds because of them. Dropping
/// it destroys the ones and gives back the others.
pub(super) struct Dead<'a, T: Trade> {
    /// Those that are not destroyed yet, with their slots.
    workers: Vec<(Unit<T>, Slot)>,
    /// Slots without a worker.
    empty: Vec<Slot>,
    /// The oldest generation of those that the keeper has been given.
    buried: Option<u64>,
    shell: &'a Arc<Shell<T>>,
}

impl<'a, T: Trade> Dead<'a, T> {
    pub(super) fn new(shell: &'a Arc<Shell<T>>) -> Self {
        Self { workers: Vec::new(), empty: Vec::new(), buried: None, shell }
    }

    pub(super) fn of(unit: Unit<T>, slot: Slot, shell: &'a Arc<Shell<T>>) -> Self {
        Self { workers: vec![(unit, slot)], empty: Vec::new(), buried: None, shell }
    }

    pub(super) fn add(&mut self, loan: Loan<T>) {
        self.workers.push(loan.into_parts());
    }

    pub(super) fn append(&mut self, mut later: Self) {
        self.workers.append(&mut later.workers);
        self.empty.append(&mut later.empty);
    }

    pub(super) fn add_empty(&mut self, slot: Slot) {
        self.empty.push(slot);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty() && self.empty.is_empty()
    }

    /// The slot of the one that was added last.
    pub(super) fn last(&self) -> Option<&Slot> {
        self.workers.last().map(|(_, slot)| slot)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Unit<T>> {
        self.workers.last_mut().map(|(unit, _)| unit)
    }

    /// Lends the one that was added last, unless it has been given up with all of before.
    pub(super) fn revive(&mut self, standing: &mut Standing, how: How) -> Option<Loan<T>> {
        let shell = self.shell;
        let (unit, slot) = self.workers.pop()?;
        match shell.books.with(|books| books.revive(slot, standing, how)) {
            Ok(slot) => Some(Loan::new(unit, slot, shell)),
            Err(slot) => {
                self.workers.push((unit, slot));
                None
            }
        }
    }

    /// Destroys the workers, so that their slots are empty, and lends those. Says of which generation
    /// those are that the keeper destroys.
    pub(super) fn buried(&mut self) -> (&mut Vec<Slot>, Option<u64>) {
        if !self.workers.is_empty() {
            let mut aftermath = Aftermath::default();
            for (value, slot) in self.workers.drain(..) {
                let generation = slot.generation();
                let doomed = Doomed { value, slot, heir: None };
                // What the keeper sees to keeps its slot until then.
                match self.shell.bury(doomed) {
                    Ok(()) => self.buried = self.buried.into_iter().chain([generation]).min(),
                    Err(doomed) => {
                        doomed.value.destroy(&mut aftermath);
                        self.shell.gone(&doomed.slot);
                        self.empty.push(doomed.slot);
                    }
                }
            }
            aftermath.resume();
        }
        (&mut self.empty, self.buried.take())
    }
}

impl<T: Trade> Drop for Dead<'_, T> {
    fn drop(&mut self) {
        if self.is_empty() {
            return;
        }
        let mut errands = self.shell.errands();
        let effects = &mut errands.effects;
        for (value, slot) in self.workers.drain(..) {
            effects.doom(value, slot, None);
        }
        let empty = mem::take(&mut self.empty);
        self.shell.with(effects, |books, effects| {
            for slot in empty {
                books.free(slot, None, effects);
            }
        });
    }
}
