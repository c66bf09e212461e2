use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sfo_pool::{PoolDestroyReason, PoolError, PoolErrorCode, PoolObserver, PoolOrigin, PoolStep};

use super::Setup;

/// What an observer may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Created,
    CreationFailed(PoolErrorCode),
    Acquired(PoolStep),
    Returned,
    Destroyed(PoolDestroyReason),
    Waiting,
    Waited,
    TimedOut(PoolStep),
    Refused(PoolErrorCode),
    HeldTooLong,
    CameBack,
    Cleared,
    Closed,
}

/// An event with all that was told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub event: Event,
    pub pool: Option<String>,
    pub key: Option<String>,
    pub worker: Option<u64>,
    pub time: Option<Duration>,
    pub place: Option<(String, u32)>,
}

type Hook = Arc<dyn Fn(Event) + Send + Sync>;

/// An observer that writes down what it is told.
#[derive(Default)]
pub struct Spy {
    told: Mutex<Vec<Told>>,
    hook: Mutex<Option<Hook>>,
}

impl Spy {
    /// With an observer for the pool of this setup.
    pub fn on(setup: Setup) -> (Setup, Arc<Self>) {
        let spy = Arc::<Self>::default();
        (setup.with(|options| options.with_observer(Arc::clone(&spy) as _)), spy)
    }

    /// Does this at each event, when it is written down.
    pub fn then(&self, hook: impl Fn(Event) + Send + Sync + 'static) {
        *self.hook.lock().unwrap() = Some(Arc::new(hook));
    }

    /// What was told since the last look.
    pub fn told(&self) -> Vec<Told> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// Which events there were since the last look.
    pub fn events(&self) -> Vec<Event> {
        self.told().into_iter().map(|told| told.event).collect()
    }

    fn note(&self, event: Event, origin: &PoolOrigin<'_>, time: Option<Duration>) {
        self.note_at(event, origin, time, None);
    }

    fn note_at(
        &self,
        event: Event,
        origin: &PoolOrigin<'_>,
        time: Option<Duration>,
        place: Option<&Location<'_>>,
    ) {
        self.told.lock().unwrap().push(Told {
            event,
            pool: origin.pool.map(str::to_owned),
            key: origin.key.map(str::to_owned),
            worker: origin.worker,
            time,
            place: place.map(|place| (place.file().to_owned(), place.line())),
        });
        let hook = self.hook.lock().unwrap().clone();
        if let Some(hook) = hook {
            hook(event);
        }
    }
}

impl PoolObserver for Spy {
    fn created(&self, origin: &PoolOrigin<'_>, took: Duration) {
        self.note(Event::Created, origin, Some(took));
    }

    fn creation_failed(&self, origin: &PoolOrigin<'_>, error: &PoolError, took: Duration) {
        self.note(Event::CreationFailed(error.code()), origin, Some(took));
    }

    fn acquired(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        self.note(Event::Acquired(step), origin, Some(took));
    }

    fn returned(&self, origin: &PoolOrigin<'_>, held: Duration) {
        self.note(Event::Returned, origin, Some(held));
    }

    fn destroyed(&self, origin: &PoolOrigin<'_>, reason: PoolDestroyReason) {
        self.note(Event::Destroyed(reason), origin, None);
    }

    fn waiting(&self, origin: &PoolOrigin<'_>) {
        self.note(Event::Waiting, origin, None);
    }

    fn waited(&self, origin: &PoolOrigin<'_>, time: Duration) {
        self.note(Event::Waited, origin, Some(time));
    }

    fn timed_out(&self, origin: &PoolOrigin<'_>, took: Duration, step: PoolStep) {
        self.note(Event::TimedOut(step), origin, Some(took));
    }

    fn refused(&self, origin: &PoolOrigin<'_>, code: PoolErrorCode) {
        self.note(Event::Refused(code), origin, None);
    }

    fn held_too_long(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        self.note_at(Event::HeldTooLong, origin, Some(held), Some(place));
    }

    fn came_back(&self, origin: &PoolOrigin<'_>, place: &Location<'_>, held: Duration) {
        self.note_at(Event::CameBack, origin, Some(held), Some(place));
    }

    fn cleared(&self, origin: &PoolOrigin<'_>) {
        self.note(Event::Cleared, origin, None);
    }

    fn closed(&self, origin: &PoolOrigin<'_>) {
        self.note(Event::Closed, origin, None);
    }
}
