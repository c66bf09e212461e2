use std::sync::Arc;

use super::aftermath::{Aftermath, ask};
use super::{Errands, Shell, Trade};
use crate::PoolDestroyReason as Reason;
use crate::scheduler::Taken;

/// Idle workers that were taken out to be asked. Dropping it puts those back that are left.
struct Asked<'a, T: Trade> {
    left: Vec<Taken<super::Unit<T>>>,
    /// How many there were.
    count: usize,
    shell: &'a Arc<Shell<T>>,
}

impl<T: Trade> Shell<T> {
    /// Destroys the idle workers that the predicate denies, and says how many stayed and went. A panic
    /// of the predicate goes on; those of destructors are returned.
    pub(super) fn retain(
        self: &Arc<Self>,
        mut is_kept: impl FnMut(&T::Worker) -> bool,
    ) -> ((usize, usize), Aftermath) {
        let left = self.books.with(|books| books.take_all());
        let all = left.len();
        let mut asked = Asked { left, count: all, shell: self };
        let mut kept = Vec::with_capacity(all);
        let mut errands = self.errands();
        let (mut question, mut aftermath) = <(Aftermath, Aftermath)>::default();
        while let Some(taken) = asked.left.pop() {
            match ask(|| is_kept(&taken.value.worker)) {
                Ok(true) => kept.push(taken),
                answer => {
                    let reason = if answer.is_ok() { Reason::Discarded } else { Reason::Panicked };
                    errands.effects.doom(taken.value, taken.slot.because(reason), None);
                    if let Err(panic) = answer {
                        // Nobody else is asked.
                        question = panic;
                        break;
                    }
                }
            }
        }
        let counts = (kept.len() + asked.left.len(), all - kept.len() - asked.left.len());
        asked.left.extend(kept.into_iter().rev());
        aftermath.then(asked.put_back());
        aftermath.then(errands.run());
        question.resume();
        (counts, aftermath)
    }
}

impl<T: Trade> Asked<'_, T> {
    fn put_back(&mut self) -> Aftermath {
        let shell = self.shell;
        let mut errands: Errands<'_, T> = shell.errands();
        let mut questions = Aftermath::default();
        let left = std::mem::take(&mut self.left);
        let count = std::mem::take(&mut self.count);
        shell.with(&mut errands.effects, |books, effects| {
            // The newest first, so that each has its old place before the next older one.
            for taken in left.into_iter().rev() {
                let now = shell.clock.now();
                let (plan, question) =
                    Shell::<T>::plan_return(books, &taken.value, &taken.slot, now);
                questions.then(question);
                books.restore(plan, taken, now, effects);
            }
            books.have_been_asked(count, effects);
        });
        // They end here, as those of a guard's drop do.
        drop(questions);
        errands.run()
    }
}

impl<T: Trade> Drop for Asked<'_, T> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.put_back().resume();
        }
    }
}
