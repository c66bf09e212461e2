use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use super::aftermath::{Aftermath, ask};
use super::pursuit::Pursuit;
use super::request::Request;
use super::verdict::{Vain, Verdict};
use super::watch::{Caller, Place};
use super::{BookEffects, Errands, Loan, Shell, Trade, Unit};
use crate::scheduler::{End, How, Lent, Refusal, Standing};
use crate::{PoolResult, PoolStep};

/// A request after its first look at what is idle.
#[allow(
    clippy::large_enum_variant,
    reason = "a waiter's room has a bound, and a box would be in it"
)]
pub(crate) enum Begun<'a, T: Trade> {
    /// All that there is to do on a warm pool.
    Served(Loan<T>),
    Pursues(Pursuit<'a, T>),
}

impl<T: Trade> Shell<T> {
    /// Gets a worker within a time of its own.
    pub(crate) async fn get_within(
        self: &Arc<Self>,
        request: Request<T::Key>,
        limit: Duration,
        place: Place,
    ) -> PoolResult<Loan<T>> {
        let mut pursuit = match self.begin(request, place) {
            Begun::Served(loan) => return Ok(loan),
            Begun::Pursues(pursuit) => pursuit,
        };
        pursuit.finish(Some(limit)).await
    }

    /// Looks for an idle worker of the bucket asked for: all that a request does on a warm pool.
    #[inline]
    pub(crate) fn begin(self: &Arc<Self>, request: Request<T::Key>, place: Place) -> Begun<'_, T> {
        let now = self.clock.now();
        let caller = Caller::new(place, now);
        // Most requests leave nothing to do, and need nothing to see to it.
        let mut effects = Errands::nothing();
        let lent = self.books.with(|books| books.lend(request.wish(None), now, &mut effects));
        let lent = match lent {
            Ok(Some(lent)) => lent,
            nothing => return self.begin_without(request, caller, nothing.err(), effects),
        };
        match self.judge(&lent) {
            Verdict::Well if effects.is_empty() => {
                let loan = Loan::new(lent.value, lent.slot, self);
                self.served(loan, request, caller)
            }
            verdict => self.begin_with(lent, verdict, (request, caller), effects),
        }
    }

    #[cold]
    fn begin_without(
        self: &Arc<Self>,
        request: Request<T::Key>,
        caller: Caller,
        refusal: Option<Refusal>,
        effects: ManuallyDrop<BookEffects<T>>,
    ) -> Begun<'_, T> {
        Errands::of(effects, self).run().resume();
        Begun::Pursues(Pursuit::new(request, caller, self).refused(refusal))
    }

    #[cold]
    fn begin_with(
        self: &Arc<Self>,
        lent: Lent<Unit<T>>,
        verdict: Verdict,
        (request, caller): (Request<T::Key>, Caller),
        effects: ManuallyDrop<BookEffects<T>>,
    ) -> Begun<'_, T> {
        // From here on a panic is a request that has failed.
        let mut pursuit = Pursuit::new(request, caller, self).lent();
        let mut errands = Errands::of(effects, self);
        if let Verdict::Well = verdict {
            let loan = errands.run_before(Loan::new(lent.value, lent.slot, self));
            return Begun::Served(pursuit.end_with(loan, PoolStep::Idle));
        }
        let vain = errands.run_before(Vain::new(lent, verdict, self));
        pursuit.put_aside(vain);
        Begun::Pursues(pursuit)
    }

    /// Not at the end of a function, where a panic in the request's key would lose the loan.
    #[inline]
    fn served(
        self: &Arc<Self>,
        loan: Loan<T>,
        request: Request<T::Key>,
        caller: Caller,
    ) -> Begun<'_, T> {
        match ask(|| drop(request)) {
            Ok(()) if !self.is_watched => Begun::Served(loan),
            Ok(()) => self.served_before_eyes(loan, caller),
            Err(panic) => self.failed_at_once(loan, panic),
        }
    }

    /// Not inlined, for a loan whose place is asked for has to be in memory.
    #[cold]
    fn served_before_eyes(self: &Arc<Self>, loan: Loan<T>, caller: Caller) -> Begun<'_, T> {
        self.acquired(&loan, caller, PoolStep::Idle);
        Begun::Served(loan)
    }

    /// A panic goes on instead of a worker that was counted as lent.
    #[cold]
    fn failed_at_once(&self, loan: Loan<T>, panic: Aftermath) -> Begun<'_, T> {
        if panic.goes_on() {
            let mut standing = Standing::Served(How::AtOnce);
            self.books.with(|books| books.fail(&mut standing, End::Failed));
        }
        Begun::Served(panic.resume_instead_of(loan))
    }
}
