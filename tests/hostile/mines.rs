//! Keys, workers, factories and wakers that panic where the test has laid a mine, and a tour of a
//! pool that treads everywhere.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook, take_hook};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use async_trait::async_trait;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
    ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, KeyedWorker, KeyedWorkerFactory,
    KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef, PoolResult,
    Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
};

/// Where the user's code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Create,
    IsWork,
    /// `supports` and `is_valid`.
    Serves,
    /// `primary_key` and `classification`.
    Names,
    WorkerDrop,
    Hash,
    Eq,
    Clone,
    KeyDrop,
    Wake,
    WakerDrop,
}

pub const PLACES: [Place; 11] = [
    Place::Create,
    Place::IsWork,
    Place::Serves,
    Place::Names,
    Place::WorkerDrop,
    Place::Hash,
    Place::Eq,
    Place::Clone,
    Place::KeyDrop,
    Place::Wake,
    Place::WakerDrop,
];

/// Goes off at a call in this place, after so many that it lets pass.
pub type Mine = (Place, usize);

const BOOM: &str = "a mine went off";

thread_local! {
    /// Only the first is live; the next is when that has gone off.
    static MINES: RefCell<VecDeque<Mine>> = const { RefCell::new(VecDeque::new()) };
    static VISIT: RefCell<Option<Visit>> = const { RefCell::new(None) };
    static IS_VISITING: Cell<bool> = const { Cell::new(false) };
}

/// What the user's code does to the pool from within.
type Visit = Rc<dyn Fn(Place)>;

/// What goes off on purpose needs no report.
fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&BOOM) {
                report(panic);
            }
        }));
    });
}

pub fn lay(mines: impl IntoIterator<Item = Mine>) {
    MINES.with_borrow_mut(|laid| *laid = mines.into_iter().collect());
}

fn laid() -> VecDeque<Mine> {
    MINES.with_borrow(VecDeque::clone)
}

fn tread(place: Place) {
    let goes_off = MINES.with_borrow_mut(|mines| match mines.front_mut() {
        Some((laid, 0)) if *laid == place => mines.pop_front().is_some(),
        Some((laid, passes)) if *laid == place => {
            *passes -= 1;
            false
        }
        _ => false,
    });
    if goes_off {
        panic_any(BOOM);
    }
    if let Some(visit) = VISIT.with_borrow(Option::clone) {
        // What a visit itself calls pays no visit.
        if !IS_VISITING.replace(true) {
            visit(place);
            IS_VISITING.set(false);
        }
    }
}

pub struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        tread(Place::Hash);
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        tread(Place::Eq);
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Self {
        tread(Place::Clone);
        Self(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        tread(Place::KeyDrop);
    }
}

#[derive(Default)]
pub struct Tally {
    created: AtomicUsize,
    destroyed: AtomicUsize,
    /// Workers created before this one are not well.
    well_from: AtomicUsize,
}

impl Tally {
    fn live(&self) -> usize {
        self.created.load(SeqCst) - self.destroyed.load(SeqCst)
    }

    fn kill_all(&self) {
        self.well_from.store(self.created.load(SeqCst), SeqCst);
    }
}

/// Of a class that it serves; one of class 2 serves class 1 as well.
pub struct Sapper {
    number: usize,
    name: u32,
    tally: Arc<Tally>,
}

impl Sapper {
    fn answer_is_work(&self) -> bool {
        tread(Place::IsWork);
        self.number >= self.tally.well_from.load(SeqCst)
    }

    fn answer_serves(&self, key: Key) -> bool {
        let name = key.0;
        // Part of the answer, which may be given under the lock.
        let was_visiting = IS_VISITING.replace(true);
        drop(key);
        IS_VISITING.set(was_visiting);
        tread(Place::Serves);
        name == self.name || (self.name, name) == (2, 1)
    }

    fn answer_name(&self) -> Key {
        tread(Place::Names);
        Key(self.name)
    }
}

impl Drop for Sapper {
    fn drop(&mut self) {
        self.tally.destroyed.fetch_add(1, SeqCst);
        tread(Place::WorkerDrop);
    }
}

impl Worker for Sapper {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }
}

impl KeyedWorker<Key> for Sapper {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }

    fn supports(&self, key: Key) -> bool {
        self.answer_serves(key)
    }

    fn primary_key(&self) -> Key {
        self.answer_name()
    }
}

impl ClassifiedWorker<Key> for Sapper {
    fn is_work(&self) -> bool {
        self.answer_is_work()
    }

    fn is_valid(&self, class: Key) -> bool {
        self.answer_serves(class)
    }

    fn classification(&self) -> Key {
        self.answer_name()
    }
}

pub struct Barracks(Arc<Tally>);

impl Barracks {
    fn make(&self, key: Option<Key>) -> PoolResult<Sapper> {
        let name = key.map_or(1, |key| key.0);
        tread(Place::Create);
        let number = self.0.created.fetch_add(1, SeqCst);
        Ok(Sapper { number, name, tally: Arc::clone(&self.0) })
    }
}

#[async_trait]
impl WorkerFactory<Sapper> for Barracks {
    async fn create(&self) -> PoolResult<Sapper> {
        self.make(None)
    }
}

#[async_trait]
impl KeyedWorkerFactory<Key, Sapper> for Barracks {
    async fn create(&self, key: Key) -> PoolResult<Sapper> {
        self.make(Some(key))
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<Key, Sapper> for Barracks {
    async fn create(&self, class: Option<Key>) -> PoolResult<Sapper> {
        self.make(class)
    }
}

struct Alarm;

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        drop(self);
        tread(Place::Wake);
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        tread(Place::WakerDrop);
    }
}

type Attempt<T> = Pin<Box<dyn Future<Output = T>>>;

/// Polls with a waker of which only the pool keeps a clone.
fn poll<T>(attempt: &mut Attempt<T>) -> Poll<T> {
    let waker = Waker::from(Arc::new(Alarm));
    let context = &mut Context::from_waker(&waker);
    let result = catch_unwind(AssertUnwindSafe(|| attempt.as_mut().poll(context)));
    // Neither while unwinding nor at the end of the function, where a panic would lose the result.
    drop(waker);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// A pool of two, whose idle workers expire after ten seconds.
pub trait Ground: Clone + 'static {
    type Guard: 'static;

    /// Requests that fill it.
    const FULL: [u32; 2] = [1, 2];

    /// Where the user's code may run under the lock.
    const LOCKED: &[Place] = &[Place::Eq];

    fn open(factory: Barracks) -> Self;
    fn get(&self, name: u32) -> Attempt<PoolResult<Self::Guard>>;
    fn clear(&self) -> Attempt<()>;
    fn cleanup(&self) -> usize;
}

const TIMEOUT: Duration = Duration::from_secs(10);

macro_rules! ground {
    (
        $(#[$meta:meta])*
        $name:ident($pool:ty), $guard:ty, $new:expr, |$get:ident, $asked:ident| $got:expr
        $(, locked: $locked:expr $(, full: $full:expr)?)?
    ) => {
        $(#[$meta])*
        #[derive(Clone)]
        pub struct $name($pool);

        impl Ground for $name {
            type Guard = $guard;

            $(
                const LOCKED: &[Place] = $locked;
                $(const FULL: [u32; 2] = $full;)?
            )?

            fn open(factory: Barracks) -> Self {
                let new: fn(Barracks) -> $pool = $new;
                Self(new(factory))
            }

            fn get(&self, $asked: u32) -> Attempt<PoolResult<Self::Guard>> {
                let $get = self.0.clone();
                Box::pin(async move { $got.await })
            }

            fn clear(&self) -> Attempt<()> {
                let pool = self.0.clone();
                Box::pin(async move { pool.clear_all_worker().await })
            }

            fn cleanup(&self) -> usize {
                self.0.cleanup_idle_worker()
            }
        }
    };
}

ground!(
    General(WorkerPoolRef<Sapper, Barracks>),
    WorkerGuard<Sapper, Barracks>,
    |factory| {
        let config = WorkerPoolConfig::default()
            .with_max_count(Some(2))
            .with_idle_timeout(Some(TIMEOUT));
        WorkerPool::new_with_config(factory, config)
    },
    |pool, _name| pool.get_worker()
);

ground!(
    /// Asks for one key, and for another now and then.
    Keyed(KeyedWorkerPoolRef<Key, Sapper, Barracks>),
    KeyedWorkerGuard<Key, Sapper, Barracks>,
    |factory| {
        let config = KeyedWorkerPoolConfig::default()
            .with_max_count_per_key(Some(2))
            .with_idle_timeout(Some(TIMEOUT));
        KeyedWorkerPool::new(factory, config)
    },
    |pool, name| pool.get_worker(Key(name / 3))
);

ground!(
    /// Asks for classes, and for any worker now and then.
    Classified(ClassifiedWorkerPoolRef<Key, Sapper, Barracks>),
    ClassifiedWorkerGuard<Key, Sapper, Barracks>,
    |factory| classified(factory, None),
    |pool, name| async move {
        match name {
            0 => pool.get_worker().await,
            class => pool.get_classified_worker(Key(class)).await,
        }
    },
    locked: &[Place::Eq, Place::Serves, Place::Clone]
);

ground!(
    /// Asks for any worker, and for a class now and then, of each of which there is but one.
    Any(ClassifiedWorkerPoolRef<Key, Sapper, Barracks>),
    ClassifiedWorkerGuard<Key, Sapper, Barracks>,
    |factory| classified(factory, Some(1)),
    |pool, name| async move {
        match name {
            0 | 2 => pool.get_worker().await,
            class => pool.get_classified_worker(Key(class)).await,
        }
    },
    locked: &[Place::Eq, Place::Serves, Place::Clone],
    full: [1, 3]
);

fn classified(
    factory: Barracks,
    max_count_per_classification: Option<u16>,
) -> ClassifiedWorkerPoolRef<Key, Sapper, Barracks> {
    let config = ClassifiedWorkerPoolConfig {
        max_count: Some(2),
        idle_timeout: Some(TIMEOUT),
        max_count_per_classification,
    };
    ClassifiedWorkerPool::new(factory, config)
}

/// What a step of the tour does to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Call,
    Return,
    Cancel,
}

/// Whether a panic in this place has to reach who takes this step; `None` where it may.
fn must_reach(step: Step, place: Place) -> Option<bool> {
    use Place::{Clone, Eq, IsWork, KeyDrop, Names, Serves};
    match (step, place) {
        (_, KeyDrop) | (Step::Cancel, Serves | Clone) => None,
        (Step::Return, IsWork | Serves | Names | Eq | Clone) => Some(false),
        _ => Some(true),
    }
}

/// Takes a step, and ends a mine's panic there; `None` if there was one.
fn take<R>(step: Step, act: impl FnOnce() -> R) -> Option<R> {
    let before = laid();
    let result = catch_unwind(AssertUnwindSafe(act));
    let gone_off = before.len() - laid().len();
    match result {
        Err(panic) if gone_off == 0 => resume_unwind(panic),
        result => {
            let place = before.front().map(|&(place, _)| place).filter(|_| gone_off == 1);
            if let Some(must) = place.and_then(|place| must_reach(step, place)) {
                assert_eq!(result.is_err(), must, "{place:?} in a {step:?}");
            }
            result.ok()
        }
    }
}

/// Somebody who asks a pool for a worker.
enum Guest<G: Ground> {
    Gone,
    Waits(Attempt<PoolResult<G::Guard>>),
    Has(G::Guard),
}

impl<G: Ground> Guest<G> {
    fn new(pool: &G, name: u32) -> Self {
        let mut guest = Self::Waits(pool.get(name));
        guest.poll();
        guest
    }

    fn poll(&mut self) {
        let Self::Waits(attempt) = self else { return };
        match take(Step::Call, || poll(attempt)) {
            Some(Poll::Pending) => {}
            Some(Poll::Ready(Ok(guard))) => *self = Self::Has(guard),
            Some(Poll::Ready(Err(_))) | None => self.leave(),
        }
    }

    fn leave(&mut self) {
        match std::mem::replace(self, Self::Gone) {
            Self::Gone => {}
            Self::Waits(attempt) => _ = take(Step::Cancel, || drop(attempt)),
            Self::Has(guard) => _ = take(Step::Return, || drop(guard)),
        }
    }
}

fn poll_all<G: Ground, const N: usize>(guests: [&mut Guest<G>; N]) {
    guests.into_iter().for_each(Guest::poll);
}

fn leave<G: Ground, const N: usize>(guests: [&mut Guest<G>; N]) {
    guests.into_iter().for_each(Guest::leave);
}

/// Every kind of event, in every state that matters to it.
async fn tour<G: Ground>(pool: &G, tally: &Tally) {
    let get = |name| Guest::new(pool, name);

    // Created, queued, handed, cancelled with a worker in hand.
    let (mut a, mut b) = (get(1), get(2));
    let (mut c, mut d, mut e) = (get(1), get(2), get(0));
    a.leave();
    c.leave();
    b.leave();
    poll_all([&mut d, &mut e]);
    let both_wait = [&d, &e].iter().all(|guest| matches!(guest, Guest::Waits(_)));
    assert!(!both_wait, "a wake was lost");
    leave([&mut d, &mut e]);

    // From idle, well and dead.
    a = get(1);
    b = get(2);
    leave([&mut a, &mut b]);
    tally.kill_all();
    a = get(1);

    // Dead workers come back, where somebody waits and where nobody does.
    b = get(2);
    c = get(1);
    d = get(0);
    tally.kill_all();
    leave([&mut a, &mut c, &mut b, &mut d]);

    // Evicted, for a request that is served and for one that leaves; expired.
    a = get(1);
    b = get(2);
    leave([&mut a, &mut b]);
    c = get(3);
    d = get(3);
    leave([&mut d, &mut c]);
    tokio::time::advance(2 * TIMEOUT).await;
    a = get(1);
    b = get(0);
    leave([&mut a, &mut b]);
    tokio::time::advance(2 * TIMEOUT).await;
    take(Step::Call, || pool.cleanup());

    // Cleared, while some are out, idle, queued and handed.
    a = get(1);
    b = get(2);
    c = get(1);
    d = get(3);
    b.leave();
    let mut clear = Some(pool.clear());
    for guest in [&mut d, &mut c, &mut a] {
        if let Some(attempt) = &mut clear {
            if take(Step::Call, || poll(attempt)).is_none_or(|poll| poll.is_ready()) {
                clear = None;
            }
        }
        guest.poll();
        guest.leave();
    }
    a = get(1);
    take(Step::Cancel, || drop(clear));
    b = get(2);
    leave([&mut a, &mut b]);
}

/// The pool serves its full limit, and no more.
fn check<G: Ground>(pool: &G) {
    let laid = MINES.take();
    assert!(poll(&mut pool.clear()).is_ready(), "a slot was lost");
    let held: Vec<_> = G::FULL.map(|name| poll(&mut pool.get(name))).into();
    let is_served = |poll: &Poll<PoolResult<_>>| matches!(poll, Poll::Ready(Ok(_)));
    assert!(held.iter().all(is_served), "a slot was lost");
    assert!(poll(&mut pool.get(1)).is_pending(), "a slot was won");
    drop(held);
    MINES.set(laid);
}

/// The whole life of a pool, and what must be true of it whatever mines went off.
pub async fn live<G: Ground>() {
    let tally = Arc::new(Tally::default());
    let Some(pool) = take(Step::Call, || G::open(Barracks(Arc::clone(&tally)))) else {
        return;
    };
    tour(&pool, &tally).await;
    check(&pool);
    let (mut a, mut b) = (Guest::new(&pool, 1), Guest::new(&pool, 2));
    a.leave();
    take(Step::Call, || drop(pool));
    b.leave();
    assert_eq!(tally.live(), 0, "a worker was lost");
}

/// What can be done to a pool at once. What is got and what is begun ends there.
pub fn acts<G: Ground>() -> [fn(&G); 3] {
    [
        |pool| _ = pool.cleanup(),
        |pool| drop(poll(&mut pool.get(1))),
        |pool| _ = poll(&mut pool.clear()),
    ]
}

/// A tour on which every piece of the user's code that runs outside the lock does this as well.
/// Returns how often it did.
pub async fn visit<G: Ground>(act: fn(&G)) -> usize {
    let tally = Arc::new(Tally::default());
    let pool = G::open(Barracks(Arc::clone(&tally)));
    let (visited, visits) = (pool.clone(), Rc::new(Cell::new(0)));
    let counter = Rc::clone(&visits);
    let visit = move |place| {
        if !G::LOCKED.contains(&place) {
            counter.set(counter.get() + 1);
            act(&visited);
        }
    };
    VISIT.set(Some(Rc::new(visit)));
    tour(&pool, &tally).await;
    VISIT.set(None);
    check(&pool);
    visits.get()
}

/// Lays a mine for the first call in `place`, for the second and so on, until there are no more
/// calls; `next` goes off after it. Returns how many there were.
pub async fn sweep<G: Ground>(place: Place, next: Option<Place>) -> usize {
    hush();
    for passes in 0.. {
        if next.is_some() {
            eprintln!("{place:?} after {passes}, then {next:?}");
        }
        lay([(place, passes)].into_iter().chain(next.map(|next| (next, 0))));
        live::<G>().await;
        if laid().front().is_some_and(|&(left, _)| left == place)
            && laid().len() > next.iter().len()
        {
            return passes;
        }
    }
    unreachable!()
}
