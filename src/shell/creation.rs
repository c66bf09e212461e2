use std::sync::Arc;

use tokio::time::sleep;

use super::policy::CreationPolicy;
use super::request::{Hashed, Request};
use super::vacancy::{Filled, Vacancy};
use super::within::{timed, within};
use super::{Filed, Fragile, Shell, Trade, Unit};
use crate::error::refused;
use crate::scheduler::Refusal;
use crate::{PoolError, PoolResult};

/// What comes of a creation for whoever waits: a worker, unless it is of this class, which is full.
pub(super) type Spare<T> = Result<Option<Hashed<<T as Trade>::Key>>, Stop>;

/// Why there is no worker.
pub(super) enum Stop {
    Refused(Refusal),
    Failed(PoolError),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PoolError> for Stop {
    fn from(error: PoolError) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    pub(super) fn into_error(self) -> PoolError {
        match self {
            Self::Refused(refusal) => refused(refusal),
            Self::Failed(error) => error,
        }
    }
}

impl<T: Trade> Shell<T> {
    /// Creates a worker as the pool's options say. `note` is told the errors after which it goes on.
    pub(super) async fn create(
        &self,
        key: Option<T::Key>,
        note: impl FnMut(PoolError) + Send,
    ) -> PoolResult<Unit<T>> {
        match &self.policy.creation {
            None => self.trade.create(key).await,
            // Boxed, for a timer is large and most pools have none.
            Some(policy) => Box::pin(self.attempt(policy, key, note)).await,
        }
    }

    /// Creates a worker within the time that a creation has, and again after an error that is said
    /// to be transient.
    async fn attempt(
        &self,
        policy: &CreationPolicy,
        key: Option<T::Key>,
        mut note: impl FnMut(PoolError) + Send,
    ) -> PoolResult<Unit<T>> {
        let key = Fragile::new(key);
        let mut delays = policy.delays();
        loop {
            let creation = self.trade.create(Option::clone(&key));
            let error = match within(policy.timeout, "create()", creation).await {
                Ok(unit) => {
                    // Each on its own, and the key not at the end, where its panic would lose the worker.
                    let (worker, own) = (Fragile::new(unit.worker), Fragile::new(unit.key));
                    drop(key);
                    return Ok(Filed { worker: worker.into_inner(), key: own.into_inner() });
                }
                Err(error) => Fragile::new(error),
            };
            // A clear waits for this slot.
            if !policy.may_retry(&error) || !self.books.with(|books| books.is_open()) {
                return Err(error.into_inner());
            }
            let Some(delay) = delays.next() else { return Err(error.into_inner()) };
            note(error.into_inner());
            timed(Box::pin(sleep(delay))).await;
        }
    }

    /// Creates a worker and gives it to whoever waits for one, or lets it become idle. Returns its class
    /// if that is full.
    pub(super) async fn create_spare(
        self: &Arc<Self>,
        request: Request<T::Key>,
        mut vacancy: Vacancy<T>,
        mut note: impl FnMut(PoolError) + Send,
    ) -> Spare<T> {
        loop {
            vacancy.begin();
            let unit = match self.create(request.key(), &mut note).await {
                Ok(unit) => unit,
                Err(error) => {
                    let text = self.text_of_request(&request);
                    vacancy.has_failed(text.as_deref(), &error);
                    return Err(error.into());
                }
            };
            match vacancy.fill(unit, matches!(request, Request::Any), None) {
                Filled::Loan(_) | Filled::Banked => return Ok(None),
                Filled::Refused(refusal) => return Err(refusal.into()),
                Filled::Outdated(same) => vacancy = same,
                Filled::Full(slot, class) => {
                    self.free(slot).resume();
                    return Ok(Some(class));
                }
            }
        }
    }

    /// Creates workers, one after the other, until there are `count`, and says how many it created.
    pub(crate) async fn prewarm(
        self: &Arc<Self>,
        request: Request<T::Key>,
        count: usize,
    ) -> PoolResult<usize> {
        self.check_valid()?;
        self.start_keeper();
        // What has expired is no worker for anybody.
        self.expire().1.resume();
        let mut created = 0;
        loop {
            let wish = request.wish(None);
            let mut spare_key = Fragile::new(wish.key().cloned());
            let slot = self.books.with(|books| books.open_spare(wish, count, &mut spare_key));
            let Some(slot) = slot.map_err(refused)? else { return Ok(created) };
            let vacancy = Vacancy::new(slot, self);
            drop(spare_key);
            let created_one = self.create_spare(request.same(), vacancy, drop).await;
            match created_one.map_err(Stop::into_error)? {
                Some(_full) => return Ok(created),
                None => created += 1,
            }
        }
    }
}
