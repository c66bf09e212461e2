use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::aftermath::{Aftermath, ask};
use super::request::Hashed;
use super::{Errands, Filed, Fragile, Loan, Shell, Trade, Unit};
use crate::scheduler::{Arrival, Birth, Life, Refusal, Slot, Standing};
use crate::{PoolDestroyReason as Reason, PoolError};

/// A slot in which a worker may be created. Dropping it gives the slot back.
pub(super) struct Vacancy<T: Trade> {
    slot: Option<Slot>,
    /// When the creation began, by the pool's clock; `None` until it does.
    begun: Option<u64>,
    /// The last one out drops the factory.
    shell: Fragile<Arc<Shell<T>>>,
}

/// What became of a new worker.
pub(super) enum Filled<T: Trade> {
    Loan(Loan<T>),
    /// Given to whoever waits for it, or idle.
    Banked,
    /// Destroyed, for the bucket of this key is full. This is the slot, for another try.
    Full(Slot, Hashed<T::Key>),
    /// Destroyed, for all workers of before were given up meanwhile. The slot is this request's still.
    Outdated(Vacancy<T>),
    /// Destroyed, for a clear had begun.
    Refused(Refusal),
}

const HELD: &str = "a vacancy holds its slot until it is dropped";

/// The number of the last worker of all pools.
static LAST_WORKER: AtomicU64 = AtomicU64::new(0);

impl<T: Trade> Vacancy<T> {
    pub(super) fn new(slot: Slot, shell: &Arc<Shell<T>>) -> Self {
        Self { slot: Some(slot), begun: None, shell: Fragile::new(Arc::clone(shell)) }
    }

    /// A creation begins now.
    pub(super) fn begin(&mut self) {
        self.begun = Some(self.shell.clock.read());
        if let Some(slot) = &mut self.slot {
            slot.begins();
        }
    }

    /// The creation for whatever is called so has failed.
    pub(super) fn has_failed(&mut self, key: Option<&str>, error: &PoolError) {
        if let Some(slot) = &mut self.slot {
            slot.has_failed();
        }
        if self.shell.is_watched {
            let took = self.begun.map_or(Duration::ZERO, |begun| self.shell.since(begun));
            self.shell.tell(key, None, |it, origin| it.creation_failed(origin, error, took));
        }
    }

    /// Puts a new worker in. `for_any`: it was created for a request that named no key. `standing` is
    /// that of the request that sees to it, if one does.
    pub(super) fn fill(
        mut self,
        unit: Unit<T>,
        for_any: bool,
        standing: Option<&mut Standing>,
    ) -> Filled<T> {
        // Each on its own: both may panic when they are dropped.
        let (worker, key) = (Fragile::new(unit.worker), Fragile::new(unit.key));
        let shell = Fragile::new(Arc::clone(&self.shell));
        let class = for_any.then(|| Hashed::new(T::Key::clone(&key), &shell.hasher));
        let mut spare_key = Fragile::new(class.as_ref().map(|class| T::Key::clone(&class.key)));
        let bucket = class.as_ref().map(|class| (class.hash, &*class.key));
        let (now, ended) = shell.clock.times();
        let took = self.begun.map_or(0, |begun| ended.saturating_sub(begun));
        let life = shell.life(&key);
        let name = life.as_ref().filter(|_| shell.is_watched).map(|it| (it.id, it.key.clone()));
        if let Some((id, key)) = &name {
            let took = Duration::from_nanos(took);
            shell.tell(key.as_deref(), Some(*id), |it, origin| it.created(origin, took));
        }
        let arrival = Arrival { bucket, life, took, now };
        let mut unit = Some((worker, key));
        let mut errands = shell.errands();
        let effects = &mut errands.effects;
        let told = ask(|| {
            shell.with(effects, |books, effects| {
                let slot = self.slot.as_mut().expect(HELD);
                if let Some(standing) = standing {
                    let birth = books.created(slot, arrival, &mut spare_key, standing, effects);
                    return (birth, Aftermath::default());
                }
                let birth = books.created_spare(slot, arrival, &mut spare_key, effects);
                let unit = unit.take_if(|_| birth == Birth::Welcome).map(whole::<T>);
                let question = unit.map(|unit| {
                    let slot = self.slot.take().expect(HELD);
                    Shell::give_back(books, unit, slot, now, effects)
                });
                (birth, question.unwrap_or_default())
            })
        });
        let (birth, question) = match told {
            Ok(told) => told,
            Err(panic) => {
                drop(shell.give_up((unit, class, spare_key), name, Reason::Panicked, errands));
                panic.resume_now()
            }
        };
        // It ends here, as that of any worker that comes back.
        drop(question);
        match (birth, class) {
            (Birth::Welcome, class) => {
                let Some(unit) = unit.map(whole::<T>) else {
                    drop((class, spare_key));
                    return errands.run_before(Filled::Banked);
                };
                let loan = Loan::new(unit, self.slot.take().expect(HELD), &shell);
                drop((class, spare_key));
                Filled::Loan(errands.run_before(loan))
            }
            (Birth::Full, Some(class)) => {
                shell.give_up((unit, spare_key), name, Reason::Surplus, errands).resume();
                Filled::Full(self.slot.take().expect(HELD), class)
            }
            (Birth::Full | Birth::Outdated, class) => {
                shell
                    .give_up((unit, class, spare_key), name, Reason::Invalidated, errands)
                    .resume();
                Filled::Outdated(self)
            }
            (Birth::Refused(refusal), class) => {
                shell.give_up((unit, class, spare_key), name, Reason::Cleared, errands).resume();
                Filled::Refused(refusal)
            }
        }
    }
}

fn whole<T: Trade>((worker, key): (Fragile<T::Worker>, Fragile<T::Key>)) -> Unit<T> {
    Filed { worker: worker.into_inner(), key: key.into_inner() }
}

impl<T: Trade> Shell<T> {
    /// What a new worker brings, if anything is kept of it.
    fn life(&self, key: &T::Key) -> Option<Life> {
        if !self.policy.keeps_records {
            return None;
        }
        let id = 1 + LAST_WORKER.fetch_add(1, Ordering::Relaxed);
        Some(Life { id, key: self.text_of(key), span: self.policy.span() })
    }

    /// A new worker is not welcome, and dropped with what came with it.
    fn give_up(
        &self,
        unwelcome: impl Sized,
        name: Option<(u64, Option<Arc<str>>)>,
        reason: Reason,
        mut errands: Errands<'_, T>,
    ) -> Aftermath {
        let mut aftermath = Aftermath::default();
        aftermath.run(|| drop(unwelcome));
        if let Some((id, key)) = name {
            self.tell_of_end(id, key.as_deref(), reason);
        }
        aftermath.then(errands.run());
        aftermath
    }
}

impl<T: Trade> Drop for Vacancy<T> {
    fn drop(&mut self) {
        if let Some(mut slot) = self.slot.take() {
            if self.begun.is_none() {
                slot.has_not_begun();
            } else if thread::panicking() {
                slot.has_failed();
            }
            self.shell.free(slot).resume();
        }
    }
}
