use std::sync::Arc;

use super::aftermath::{Aftermath, ask};
use super::{Dead, Loan, Shell, Trade, Unit};
use crate::PoolDestroyReason;
use crate::scheduler::{Lent, Ticket};

/// What is to be done with a worker that was idle.
pub(super) enum Verdict {
    Well,
    /// It is well, but has to be recycled before it is used.
    Due,
    /// It is not, or the question has panicked.
    Dead(Aftermath),
}

/// An idle worker that can't be handed out as it is. The place in the order is kept.
pub(super) struct Vain<'a, T: Trade> {
    pub(super) ticket: Ticket,
    pub(super) dead: Dead<'a, T>,
    /// It is well, but has to be recycled before it is used.
    pub(super) is_due: bool,
}

impl<T: Trade> Shell<T> {
    pub(super) fn examine(self: &Arc<Self>, lent: Lent<Unit<T>>) -> Result<Loan<T>, Vain<'_, T>> {
        match self.judge(&lent) {
            Verdict::Well => Ok(Loan::new(lent.value, lent.slot, self)),
            verdict => Err(Vain::new(lent, verdict, self)),
        }
    }

    /// Asks a worker that was idle whether it is well.
    #[inline]
    pub(super) fn judge(&self, lent: &Lent<Unit<T>>) -> Verdict {
        if lent.is_spent {
            return Verdict::Dead(Aftermath::default());
        }
        match ask(|| T::is_well(&lent.value)) {
            Ok(true) if lent.rested < self.fresh_for => Verdict::Well,
            Ok(true) => Verdict::Due,
            answer => Verdict::Dead(answer.err().unwrap_or_default()),
        }
    }
}

impl<'a, T: Trade> Vain<'a, T> {
    pub(super) fn new(lent: Lent<Unit<T>>, verdict: Verdict, shell: &'a Arc<Shell<T>>) -> Self {
        let Lent { value, mut slot, ticket, .. } = lent;
        if matches!(&verdict, Verdict::Dead(panic) if !panic.is_none()) {
            slot = slot.because(PoolDestroyReason::Panicked);
        }
        let vain = |is_due| Self { ticket, dead: Dead::of(value, slot, shell), is_due };
        match verdict {
            Verdict::Well | Verdict::Due => vain(true),
            Verdict::Dead(panic) => panic.resume_instead_of(vain(false)),
        }
    }
}
