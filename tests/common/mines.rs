//! Keys, workers, factories and wakers that panic where the test has laid a mine, and a ledger of
//! what becomes of each worker.

use std::any::Any as Anything;
use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook, take_hook};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use async_trait::async_trait;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
    ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, KeyedWorker, KeyedWorkerFactory,
    KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef, PoolOptions,
    PoolResult, PoolStatistics, Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig,
    WorkerPoolRef, pool_err,
};
use tokio::task;

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
    /// The rest runs only where an option asks for it.
    Recycle,
    Destroy,
    /// Whether an error is worth another attempt.
    IsTransient,
}

/// Those that every pool has.
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
    static AMBUSH: RefCell<Option<Ambush>> = const { RefCell::new(None) };
    static VISIT: RefCell<Option<Visit>> = const { RefCell::new(None) };
    static IS_VISITING: Cell<bool> = const { Cell::new(false) };
    static IS_DRIVING: Cell<bool> = const { Cell::new(false) };
}

/// What happens at the next call in a place.
type Ambush = (Place, Box<dyn FnOnce()>);

/// What the user's code does to the pool from within.
pub type Visit = Rc<dyn Fn(Place)>;

/// What goes off on purpose needs no report.
pub fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !is_boom(panic.payload()) {
                report(panic);
            }
        }));
    });
}

pub fn boom() {
    panic_any(BOOM);
}

pub fn is_boom(panic: &(dyn Anything + Send)) -> bool {
    panic.downcast_ref::<&str>() == Some(&BOOM)
}

pub fn lay(mines: impl IntoIterator<Item = Mine>) {
    MINES.set(mines.into_iter().collect());
}

/// The mines that have not gone off.
pub fn laid() -> VecDeque<Mine> {
    MINES.with_borrow(VecDeque::clone)
}

/// Does this at the next call in `place`, before a mine there can go off.
pub fn ambush(place: Place, act: impl FnOnce() + 'static) {
    AMBUSH.set(Some((place, Box::new(act))));
}

/// Takes all mines and the ambush away, and returns the mines.
pub fn disarm() -> VecDeque<Mine> {
    AMBUSH.set(None);
    MINES.take()
}

pub fn visit_with(visit: Option<Visit>) {
    VISIT.set(visit);
}

/// Runs tokio's runtime. A mine goes off in its tasks, but not where its timers wake: that is tokio's.
pub fn drive(run: impl FnOnce()) {
    IS_DRIVING.set(true);
    run();
    IS_DRIVING.set(false);
}

pub fn tread(place: Place) {
    if IS_DRIVING.get() && task::try_id().is_none() {
        return;
    }
    let ambush = AMBUSH.with_borrow_mut(|ambush| ambush.take_if(|(at, _)| *at == place));
    if let Some((_, act)) = ambush {
        act();
    }
    let goes_off = MINES.with_borrow_mut(|mines| match mines.front_mut() {
        Some((laid, 0)) if *laid == place => mines.pop_front().is_some(),
        Some((laid, passes)) if *laid == place => {
            *passes -= 1;
            false
        }
        _ => false,
    });
    if goes_off {
        boom();
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

/// What a factory does, which the test may stop at a gate.
#[derive(Debug, Clone, Copy)]
pub enum Job {
    Create,
    Recycle,
    Destroy,
}

/// How a job ends that waits at its gate.
#[derive(Debug, Clone, Copy)]
pub enum End {
    Well,
    Error,
    Panic,
}

/// Who has a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Pool,
    Guest,
    Nobody,
}

#[derive(Default)]
pub struct Tally {
    created: AtomicUsize,
    destroyed: AtomicUsize,
    /// Workers created before this one are not well.
    well_from: AtomicUsize,
    owners: Mutex<Vec<Owner>>,
    /// What the workers that live and those that are being created were asked to be.
    seats: Mutex<Vec<Option<u32>>>,
    /// What was done that nobody may do.
    faults: Mutex<Vec<String>>,
    /// One for each job.
    gates: [Mutex<Gate>; 3],
    is_met: AtomicBool,
}

#[derive(Default)]
struct Gate {
    /// How those who wait are to end; `None` if it is open.
    ends: Option<VecDeque<End>>,
    /// The tasks among them.
    tasks: Vec<Waker>,
}

impl Gate {
    fn pass(&mut self) -> Option<End> {
        self.ends.as_mut().map_or(Some(End::Well), VecDeque::pop_front)
    }
}

impl Tally {
    pub fn live(&self) -> usize {
        self.created.load(SeqCst) - self.destroyed.load(SeqCst)
    }

    pub fn kill_all(&self) {
        self.well_from.store(self.created.load(SeqCst), SeqCst);
    }

    /// From now on each waits for an end of its own.
    pub fn shut(&self, job: Job) {
        self.at(job, |gate| _ = gate.ends.get_or_insert_default());
    }

    /// Shuts the gate, and lets one pass to this end.
    pub fn end(&self, job: Job, end: End) {
        self.at(job, |gate| gate.ends.get_or_insert_default().push_back(end));
    }

    pub fn open(&self) {
        for job in [Job::Create, Job::Recycle, Job::Destroy] {
            self.at(job, |gate| gate.ends = None);
        }
    }

    fn at(&self, job: Job, change: impl FnOnce(&mut Gate)) {
        let mut gate = self.gates[job as usize].lock().unwrap();
        change(&mut gate);
        gate.tasks.drain(..).for_each(Waker::wake);
    }

    /// Whether somebody has met a gate shut since this was asked.
    pub fn has_met_gate(&self) -> bool {
        self.is_met.swap(false, SeqCst)
    }

    /// The books of the test's own: nothing was done wrong, and only this many workers live.
    pub fn audit(&self, live: usize) {
        let faults = self.faults.lock().unwrap().clone();
        assert_eq!(faults, [""; 0]);
        let seats = self.seats.lock().unwrap().len();
        assert_eq!((self.live(), seats), (live, live), "live workers and slots");
    }

    /// Waits at the gate. A guest, who keeps no waker there, is told that he has met it.
    async fn pass_gate(&self, job: Job) -> End {
        poll_fn(|cx| {
            let mut gate = self.gates[job as usize].lock().unwrap();
            if let Some(end) = gate.pass() {
                return Poll::Ready(end);
            }
            match task::try_id() {
                Some(_) => gate.tasks.push(cx.waker().clone()),
                None => self.is_met.store(true, SeqCst),
            }
            Poll::Pending
        })
        .await
    }

    fn pass(&self, worker: usize, from: Owner, to: Owner) {
        let was = std::mem::replace(&mut self.owners.lock().unwrap()[worker], to);
        if was != from {
            self.faults.lock().unwrap().push(format!("{worker} goes from {was:?} to {to:?}"));
        }
    }
}

/// Whether one of this name may be created beside these.
type Rule = fn(&[Option<u32>], Option<u32>) -> bool;

/// The slot of a worker, from before its creation until after its destructor.
struct Seat(Option<u32>, Arc<Tally>);

impl Seat {
    fn take(tally: &Arc<Tally>, name: Option<u32>, may: Rule) -> Self {
        let mut seats = tally.seats.lock().unwrap();
        if !may(&seats, name) {
            tally.faults.lock().unwrap().push(format!("{name:?} created beside {seats:?}"));
        }
        seats.push(name);
        Self(name, Arc::clone(tally))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.1.seats.lock().unwrap();
        let seat = seats.iter().position(|seat| *seat == self.0).expect("a seat is left once");
        seats.swap_remove(seat);
    }
}

/// Of a class that it serves; one of class 2 serves class 1 as well.
pub struct Sapper {
    number: usize,
    name: u32,
    tally: Arc<Tally>,
    _seat: Seat,
}

impl Sapper {
    /// Who got it says so, and again before he gives it back.
    pub fn seize(&self) {
        self.tally.pass(self.number, Owner::Pool, Owner::Guest);
    }

    pub fn release(&self) {
        self.tally.pass(self.number, Owner::Guest, Owner::Pool);
    }

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
        self.tally.pass(self.number, Owner::Pool, Owner::Nobody);
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

pub struct Barracks(pub Arc<Tally>);

impl Barracks {
    async fn make(&self, key: Option<Key>, may: Rule) -> PoolResult<Sapper> {
        let Self(tally) = self;
        let asked = key.map(|key| key.0);
        let seat = Seat::take(tally, asked, may);
        tread(Place::Create);
        match tally.pass_gate(Job::Create).await {
            End::Well => {}
            End::Error => return Err(pool_err!("no more workers")),
            End::Panic => boom(),
        }
        let number = tally.created.fetch_add(1, SeqCst);
        tally.owners.lock().unwrap().push(Owner::Pool);
        let (name, tally) = (asked.unwrap_or(1), Arc::clone(tally));
        Ok(Sapper { number, name, tally, _seat: seat })
    }

    async fn reset(&self) -> PoolResult<()> {
        tread(Place::Recycle);
        match self.0.pass_gate(Job::Recycle).await {
            End::Well => {}
            End::Error => return Err(pool_err!("beyond repair")),
            End::Panic => boom(),
        }
        Ok(())
    }

    async fn bury(&self, worker: Sapper) {
        let end = match catch_unwind(|| tread(Place::Destroy)) {
            Ok(()) => self.0.pass_gate(Job::Destroy).await,
            Err(_) => End::Panic,
        };
        if let End::Panic = end {
            // Two panics at a time would abort, and both are the test's own.
            _ = catch_unwind(AssertUnwindSafe(|| drop(worker)));
            boom();
        }
    }
}

#[async_trait]
impl WorkerFactory<Sapper> for Barracks {
    async fn create(&self) -> PoolResult<Sapper> {
        self.make(None, |seats, _| seats.len() < 2).await
    }

    async fn recycle(&self, _worker: &mut Sapper) -> PoolResult<()> {
        self.reset().await
    }

    async fn destroy(&self, worker: Sapper) {
        self.bury(worker).await;
    }
}

#[async_trait]
impl KeyedWorkerFactory<Key, Sapper> for Barracks {
    async fn create(&self, key: Key) -> PoolResult<Sapper> {
        self.make(Some(key), |seats, name| seats.iter().filter(|seat| **seat == name).count() < 2)
            .await
    }

    async fn recycle(&self, _worker: &mut Sapper) -> PoolResult<()> {
        self.reset().await
    }

    async fn destroy(&self, worker: Sapper) {
        self.bury(worker).await;
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<Key, Sapper> for Barracks {
    async fn create(&self, class: Option<Key>) -> PoolResult<Sapper> {
        // One more than two for each class of which there was none when that was granted.
        let may: Rule = |seats, class| {
            let kinds: HashSet<_> = seats.iter().collect();
            !kinds.contains(&class) || kinds.len() == seats.len()
        };
        self.make(class, may).await
    }

    async fn recycle(&self, _worker: &mut Sapper) -> PoolResult<()> {
        self.reset().await
    }

    async fn destroy(&self, worker: Sapper) {
        self.bury(worker).await;
    }
}

struct Alarm(Arc<AtomicBool>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
        drop(self);
        tread(Place::Wake);
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        tread(Place::WakerDrop);
    }
}

pub type Attempt<T> = Pin<Box<dyn Future<Output = T>>>;

pub fn poll<T>(attempt: &mut Attempt<T>) -> Poll<T> {
    poll_as(attempt, &Arc::default())
}

/// Polls with a waker of which only the pool keeps a clone.
pub fn poll_as<T>(attempt: &mut Attempt<T>, is_woken: &Arc<AtomicBool>) -> Poll<T> {
    let waker = Waker::from(Arc::new(Alarm(Arc::clone(is_woken))));
    let context = &mut Context::from_waker(&waker);
    let result = catch_unwind(AssertUnwindSafe(|| attempt.as_mut().poll(context)));
    // Neither while unwinding nor at the end of the function, where a panic would lose the result.
    drop(waker);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// A pool of two, whose idle workers expire after ten seconds.
pub trait Ground: Clone + 'static {
    type Guard: Deref<Target = Sapper> + 'static;

    /// Requests that fill it.
    const FULL: [u32; 2] = [1, 2];

    /// Where the user's code may run under the lock.
    const LOCKED: &[Place] = &[Place::Eq];

    fn open(factory: Barracks, options: PoolOptions) -> Self;
    fn get(&self, name: u32) -> Attempt<PoolResult<Self::Guard>>;
    fn get_within(&self, name: u32, limit: Duration) -> Attempt<PoolResult<Self::Guard>>;
    fn clear(&self) -> Attempt<()>;
    fn close(&self) -> Attempt<()>;
    fn cleanup(&self) -> usize;
    fn invalidate(&self);
    fn resize(&self, max_count: u16);
    fn statistics(&self) -> PoolStatistics;
}

pub const TIMEOUT: Duration = Duration::from_secs(10);

macro_rules! ground {
    (
        $(#[$meta:meta])*
        $name:ident($pool:ty), $guard:ty, $new:expr,
        |$get:ident, $asked:ident, $limit:ident| $got:expr, within: $timed:expr
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

            fn open(factory: Barracks, options: PoolOptions) -> Self {
                let new: fn(Barracks, PoolOptions) -> $pool = $new;
                Self(new(factory, options))
            }

            fn get(&self, $asked: u32) -> Attempt<PoolResult<Self::Guard>> {
                let $get = self.0.clone();
                Box::pin(async move { $got.await })
            }

            fn get_within(
                &self,
                $asked: u32,
                $limit: Duration,
            ) -> Attempt<PoolResult<Self::Guard>> {
                let $get = self.0.clone();
                Box::pin(async move { $timed.await })
            }

            fn clear(&self) -> Attempt<()> {
                let pool = self.0.clone();
                Box::pin(async move { pool.clear_all_worker().await })
            }

            fn close(&self) -> Attempt<()> {
                let pool = self.0.clone();
                Box::pin(async move { pool.close().await })
            }

            fn cleanup(&self) -> usize {
                self.0.cleanup_idle_worker()
            }

            fn invalidate(&self) {
                self.0.invalidate_all();
            }

            fn resize(&self, max_count: u16) {
                self.0.set_max_count(Some(max_count)).expect("a limit that makes sense");
            }

            fn statistics(&self) -> PoolStatistics {
                self.0.statistics()
            }
        }
    };
}

ground!(
    General(WorkerPoolRef<Sapper, Barracks>),
    WorkerGuard<Sapper, Barracks>,
    |factory, options| {
        let config = WorkerPoolConfig::default()
            .with_max_count(Some(2))
            .with_idle_timeout(Some(TIMEOUT));
        WorkerPool::new_with_options(factory, config, options)
    },
    |pool, _name, limit| pool.get_worker(),
    within: pool.get_worker_timeout(limit)
);

ground!(
    /// Asks for one key, and for another now and then.
    Keyed(KeyedWorkerPoolRef<Key, Sapper, Barracks>),
    KeyedWorkerGuard<Key, Sapper, Barracks>,
    |factory, options| {
        let config = KeyedWorkerPoolConfig::default()
            .with_max_count_per_key(Some(2))
            .with_idle_timeout(Some(TIMEOUT));
        KeyedWorkerPool::new_with_options(factory, config, options)
    },
    |pool, name, limit| pool.get_worker(Key(name / 3)),
    within: pool.get_worker_timeout(Key(name / 3), limit)
);

ground!(
    /// Asks for classes, and for any worker now and then.
    Classified(ClassifiedWorkerPoolRef<Key, Sapper, Barracks>),
    ClassifiedWorkerGuard<Key, Sapper, Barracks>,
    |factory, options| classified(factory, options, None),
    |pool, name, limit| async move {
        match name {
            0 => pool.get_worker().await,
            class => pool.get_classified_worker(Key(class)).await,
        }
    },
    within: async move {
        match name {
            0 => pool.get_worker_timeout(limit).await,
            class => pool.get_classified_worker_timeout(Key(class), limit).await,
        }
    },
    locked: &[Place::Eq, Place::Serves, Place::Clone]
);

ground!(
    /// Asks for any worker, and for a class now and then, of each of which there is but one.
    Any(ClassifiedWorkerPoolRef<Key, Sapper, Barracks>),
    ClassifiedWorkerGuard<Key, Sapper, Barracks>,
    |factory, options| classified(factory, options, Some(1)),
    |pool, name, limit| async move {
        match name {
            0 | 2 => pool.get_worker().await,
            class => pool.get_classified_worker(Key(class)).await,
        }
    },
    within: async move {
        match name {
            0 | 2 => pool.get_worker_timeout(limit).await,
            class => pool.get_classified_worker_timeout(Key(class), limit).await,
        }
    },
    locked: &[Place::Eq, Place::Serves, Place::Clone],
    full: [1, 3]
);

fn classified(
    factory: Barracks,
    options: PoolOptions,
    max_count_per_classification: Option<u16>,
) -> ClassifiedWorkerPoolRef<Key, Sapper, Barracks> {
    let config = ClassifiedWorkerPoolConfig {
        max_count: Some(2),
        idle_timeout: Some(TIMEOUT),
        max_count_per_classification,
    };
    ClassifiedWorkerPool::new_with_options(factory, config, options)
}

/// The pool serves its full limit, and no more.
pub fn check<G: Ground>(pool: &G) {
    check_beside(pool, &|| {});
}

/// The same where the pool has tasks, which `run` lets run.
pub fn check_beside<G: Ground>(pool: &G, run: &dyn Fn()) {
    let laid = disarm();
    assert!(poll_beside(&mut pool.clear(), run).is_ready(), "a slot was lost");
    let statistics = pool.statistics();
    assert_eq!(statistics.created, statistics.destroyed_in_all(), "{statistics:?}");
    assert!(statistics.served_at_once <= statistics.started, "{statistics:?}");
    fill_beside(pool, run);
    lay(laid);
}

pub fn fill_beside<G: Ground>(pool: &G, run: &dyn Fn()) {
    // What one of class 2 does not serve comes first, for one of class 2 may serve the other.
    let [other, first] = G::FULL;
    let held = [first, other].map(|name| poll_beside(&mut pool.get(name), run));
    let is_served = |poll: &Poll<PoolResult<_>>| matches!(poll, Poll::Ready(Ok(_)));
    assert!(held.iter().all(is_served), "a slot was lost");
    assert!(poll_beside(&mut pool.get(first), run).is_pending(), "a slot was won");
}

/// Polls again once the tasks have run.
pub fn poll_beside<T>(attempt: &mut Attempt<T>, run: &dyn Fn()) -> Poll<T> {
    if let Poll::Ready(result) = poll(attempt) {
        return Poll::Ready(result);
    }
    run();
    poll(attempt)
}
