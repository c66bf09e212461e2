//! Every point at which a call may wait, every way on from there, and a panic of each call of the
//! user's code that follows.

mod common;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;

use sfo_pool::{PoolErrorCode, PoolOptions, PoolResult};

use common::mines::*;
use common::{in_own_process, watched};

use self::Fate::{Failed, Left, Panicked, Refused, Served, Waits};
use self::Outcome::{Drop, DropInPanic, Fail, Finish, Panic};

/// A row of the matrix.
trait Row: Ground {
    /// What the call under test and some others ask for.
    const CALL: u32 = 1;

    /// Why no worker is ever created in vain for a full class; `None` if one is.
    const NEVER_FULL: Option<&str> = Some("a request that names its key creates for that alone");

    /// Why nothing idle ever makes way for another request; `None` if it does.
    const NEVER_EVICTS: Option<&str>;
}

impl Row for General {
    const NEVER_EVICTS: Option<&str> = Some("an idle worker fits every request");
}

impl Row for Keyed {
    const NEVER_EVICTS: Option<&str> = Some("keys share no limit");
}

impl Row for Classified {
    const NEVER_EVICTS: Option<&str> = None;
}

impl Row for Any {
    const CALL: u32 = 0;
    const NEVER_FULL: Option<&str> = None;
    const NEVER_EVICTS: Option<&str> = Some("an idle worker fits every request");
}

/// How a call goes on from the point at which it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All goes well.
    Finish,
    /// What it waits for ends badly.
    Fail,
    /// The user's code that it waits for panics.
    Panic,
    Drop,
    /// Dropped while its thread unwinds.
    DropInPanic,
}

const OUTCOMES: [Outcome; 5] = [Finish, Fail, Panic, Drop, DropInPanic];

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waits,
    /// It got its worker, or its clear came to the end.
    Served,
    Failed,
    /// Failed, for the pool was being cleared when it came.
    Refused,
    Panicked,
    Left,
}

type Act<G> = fn(&Stage<G>) -> &Stage<G>;
type Ways<'a, G> = &'a [(Outcome, Fate, Act<G>)];

/// A point at which a call may wait.
struct Scene<G: Row> {
    name: &'static str,
    /// Brings a call there.
    set: Act<G>,
    ways: Vec<(Outcome, Fate, Act<G>)>,
    /// What can't be.
    never: Vec<(Outcome, &'static str)>,
    /// One creation at a time.
    is_narrow: bool,
    /// The point is inside the destructor of the worker that the second holder returns.
    is_inside: bool,
}

enum State<G: Row> {
    Calls(Attempt<Option<PoolResult<G::Guard>>>),
    Has(G::Guard),
}

/// Somebody who calls the pool, and comes back when he is woken.
struct Guest<G: Row> {
    state: Cell<Option<State<G>>>,
    fate: Cell<Fate>,
    is_woken: Arc<AtomicBool>,
    is_clear: bool,
    tally: Arc<Tally>,
}

type Player<G> = Rc<Guest<G>>;

/// Ends a panic that was meant.
fn take<R>(act: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Err(panic) if !is_boom(&*panic) => resume_unwind(panic),
        result => result.ok(),
    }
}

impl<G: Row> Guest<G> {
    fn poll(&self) {
        let mut attempt = match self.state.take() {
            Some(State::Calls(attempt)) if self.is_woken.swap(false, SeqCst) => attempt,
            state => return self.state.set(state),
        };
        self.tally.has_met_gate();
        let result = take(|| poll_as(&mut attempt, &self.is_woken));
        self.fate.set(match result {
            Some(Poll::Pending) => {
                // No waker is kept at the gate.
                self.is_woken.fetch_or(self.tally.has_met_gate(), SeqCst);
                return self.state.set(Some(State::Calls(attempt)));
            }
            Some(Poll::Ready(Some(Ok(guard)))) => {
                guard.seize();
                self.state.set(Some(State::Has(guard)));
                Served
            }
            Some(Poll::Ready(None)) => Served,
            Some(Poll::Ready(Some(Err(error)))) => match error.code() {
                PoolErrorCode::Clearing => Refused,
                _ => Failed,
            },
            None => Panicked,
        });
        take(|| drop(attempt));
    }

    fn leave(&self) {
        self.leave_by(drop);
    }

    fn leave_in_panic(&self) {
        self.leave_by(|_state| boom());
    }

    fn leave_by(&self, end: fn(State<G>)) {
        let Some(state) = self.state.take() else { return };
        self.fate.set(Left);
        if let State::Has(guard) = &state {
            guard.release();
        }
        take(|| end(state));
    }

    fn has_worker(&self) -> bool {
        self.fate.get() == Served && !self.is_clear
    }

    fn may_go_on(&self) -> bool {
        self.fate.get() == Waits && self.is_woken.load(SeqCst)
    }

    fn waits(&self) -> bool {
        self.fate.get() == Waits && !self.may_go_on()
    }
}

/// A pool and all who call it.
struct Stage<G: Row> {
    pool: G,
    tally: Arc<Tally>,
    /// In the order in which they came.
    guests: RefCell<Vec<Player<G>>>,
    call: RefCell<Option<Player<G>>>,
}

impl<G: Row> Stage<G> {
    fn open(is_narrow: bool) -> Rc<Self> {
        let mut options = PoolOptions::default();
        if is_narrow {
            options = options.with_max_concurrent_creation_count(Some(1));
        }
        let tally = Arc::default();
        let pool = G::open(Barracks(Arc::clone(&tally)), options);
        Rc::new(Self { pool, tally, guests: RefCell::default(), call: RefCell::default() })
    }

    fn add(&self, is_clear: bool, attempt: Attempt<Option<PoolResult<G::Guard>>>) -> Player<G> {
        let guest = Rc::new(Guest {
            state: Cell::new(Some(State::Calls(attempt))),
            fate: Cell::new(Waits),
            is_woken: Arc::new(AtomicBool::new(true)),
            is_clear,
            tally: Arc::clone(&self.tally),
        });
        self.guests.borrow_mut().push(Rc::clone(&guest));
        guest
    }

    fn add_get(&self, name: u32) -> Player<G> {
        let attempt = self.pool.get(name);
        self.add(false, Box::pin(async move { Some(attempt.await) }))
    }

    fn guest(&self, number: usize) -> Player<G> {
        Rc::clone(&self.guests.borrow()[number])
    }

    fn call(&self) -> Player<G> {
        self.call.borrow().clone().expect("the scene is set")
    }

    /// He whose creation is at the gate.
    fn creator(&self) -> Player<G> {
        let guests = self.guests.borrow();
        Rc::clone(guests.iter().find(|guest| guest.may_go_on()).expect("somebody creates"))
    }

    fn is_clearing(&self) -> bool {
        self.guests.borrow().iter().any(|guest| guest.is_clear && guest.waits())
    }

    /// All go on until nobody can, and those who got a worker return it.
    fn play_out(&self) {
        loop {
            let guests = self.guests.borrow().clone();
            guests.iter().for_each(|guest| guest.poll());
            if let Some(holder) = guests.iter().find(|guest| guest.has_worker()) {
                holder.leave();
            } else if !guests.iter().any(|guest| guest.may_go_on()) {
                let waiting = guests.iter().filter(|guest| guest.waits()).count();
                return assert_eq!(waiting, 0, "wakes were lost");
            }
        }
    }
}

/// The steps of which scenes, and ways on from them, are made.
impl<G: Row> Stage<G> {
    fn then(&self, step: impl FnOnce(&Self)) -> &Self {
        step(self);
        self
    }

    fn ask(&self, name: u32) -> &Self {
        self.then(|s| _ = s.add_get(name))
    }

    fn get(&self, name: u32) -> &Self {
        self.then(|s| s.add_get(name).poll())
    }

    fn fill(&self) -> &Self {
        self.get(G::FULL[0]).get(G::FULL[1])
    }

    fn clear(&self) -> &Self {
        let attempt = self.pool.clear();
        let attempt = Box::pin(async move {
            attempt.await;
            None
        });
        self.then(|s| s.add(true, attempt).poll())
    }

    /// Who came last makes the call under test.
    fn as_call(&self) -> &Self {
        let call = self.guests.borrow().last().cloned();
        self.then(|s| *s.call.borrow_mut() = call)
    }

    /// The call, and behind it somebody who wants the same and somebody who wants another.
    fn call_and_others(&self) -> &Self {
        self.get(G::CALL).as_call().get(G::CALL).get(2)
    }

    fn call_goes_on(&self) -> &Self {
        self.then(|s| s.call().poll())
    }

    fn first_returns(&self) -> &Self {
        self.then(|s| s.guest(0).leave())
    }

    fn both_return(&self) -> &Self {
        self.first_returns().then(|s| s.guest(1).leave())
    }

    /// All workers are dead from now on.
    fn die(&self) -> &Self {
        self.then(|s| s.tally.kill_all())
    }

    fn shut(&self) -> &Self {
        self.then(|s| s.tally.shut())
    }

    fn end(&self, end: End) -> &Self {
        self.then(|s| s.tally.end(end))
    }

    /// The oldest creation ends.
    fn create(&self, end: End) -> &Self {
        self.end(end).then(|s| s.creator().poll())
    }

    fn creator_leaves(&self) -> &Self {
        self.then(|s| s.creator().leave())
    }

    fn panic_in(&self, place: Place) -> &Self {
        self.then(|_| ambush(place, boom))
    }
}

impl<G: Row> Scene<G> {
    fn new(name: &'static str, set: Act<G>, ways: Ways<'_, G>) -> Self {
        let mut ways = ways.to_vec();
        ways.push((Drop, Left, |s| s.then(|s| s.call().leave())));
        ways.push((DropInPanic, Left, |s| s.then(|s| s.call().leave_in_panic())));
        Self { name, set, ways, never: Vec::new(), is_narrow: false, is_inside: false }
    }

    fn narrow(self) -> Self {
        Self { is_narrow: true, ..self }
    }

    fn inside(self) -> Self {
        Self { is_inside: true, ..self }
    }

    fn never(mut self, outcome: Outcome, why: &'static str) -> Self {
        self.never.push((outcome, why));
        self
    }

    /// It can't be set at all.
    fn unless(self, why: Option<&'static str>) -> Self {
        let Some(why) = why else { return self };
        Self { ways: Vec::new(), never: OUTCOMES.map(|outcome| (outcome, why)).into(), ..self }
    }

    /// Runs one cell, and says whether the mine went off.
    fn run(&self, (_, fate, act): (Outcome, Fate, Act<G>), mine: Mine) -> bool {
        let stage = Stage::open(self.is_narrow);
        (self.set)(&stage);
        let call = stage.call();
        assert_eq!(call.fate.get(), Waits, "the scene is not set");

        lay([mine]);
        if self.is_inside {
            let within = Rc::clone(&stage);
            ambush(Place::WorkerDrop, move || _ = act(&within));
            stage.guest(1).leave();
        } else {
            act(&stage);
        }
        call.poll();
        let is_fine = !laid().is_empty();
        assert!(!is_fine || call.fate.get() == fate, "its fate: {:?}", call.fate.get());

        stage.tally.open();
        let is_clearing = stage.is_clearing();
        let newcomer = stage.add_get(G::CALL);
        newcomer.poll();
        if newcomer.fate.get() != Panicked {
            assert_eq!(newcomer.fate.get() == Refused, is_clearing, "whether the pool is open");
        }
        stage.play_out();
        let went_off = disarm().is_empty();

        fill(&stage.pool);
        check(&stage.pool);
        let last = stage.add_get(G::CALL);
        last.poll();
        let tally = Arc::clone(&stage.tally);
        drop((stage, call, newcomer));
        tally.audit(1);
        last.leave();
        tally.audit(0);
        went_off
    }
}

fn scenes<G: Row>() -> Vec<Scene<G>> {
    const ONLY_MINES: &str = "all of the user's code that runs here is mined";
    const HAS_FAILED: &str = "it has failed already";
    const HAS_ENDED: &str = "all that it waited for has ended";

    let in_line: Ways<G> = &[
        (Finish, Served, |s| s.first_returns()),
        (Finish, Served, |s| s.die().first_returns()),
        (Fail, Failed, |s| s.clear()),
        (Fail, Failed, |s| s.end(End::Error).die().first_returns()),
        (Panic, Served, |s| s.panic_in(Place::Wake).first_returns()),
        (Panic, Failed, |s| s.panic_in(Place::Wake).clear()),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).die().first_returns()),
        (Panic, Panicked, |s| s.end(End::Panic).die().first_returns()),
    ];
    let handed: Ways<G> = &[
        (Finish, Served, |s| s),
        (Fail, Failed, |s| s.clear()),
        (Panic, Failed, |s| s.panic_in(Place::WorkerDrop).clear()),
    ];
    let granted: Ways<G> = &[
        (Finish, Served, |s| s),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Panicked, |s| s.end(End::Panic)),
    ];
    let creating: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well)),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear().end(End::Well)),
        (Panic, Panicked, |s| s.end(End::Panic)),
        (Panic, Panicked, |s| s.clear().panic_in(Place::WorkerDrop).end(End::Well)),
    ];
    let creating_in_vain: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well).call_goes_on().first_returns()),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.end(End::Well).call_goes_on().clear()),
        (Panic, Panicked, |s| s.end(End::Panic)),
        (Panic, Panicked, |s| s.panic_in(Place::WorkerDrop).end(End::Well)),
    ];
    let behind_a_creation: Ways<G> = &[
        (Finish, Served, |s| s.create(End::Well).end(End::Well)),
        (Fail, Failed, |s| s.create(End::Error).end(End::Error)),
        (Fail, Failed, |s| s.creator_leaves().end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Panicked, |s| s.create(End::Panic).end(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::Wake).create(End::Error).end(End::Well)),
    ];
    let inside: Ways<G> = &[
        (Finish, Served, |s| s.call_goes_on()),
        (Finish, Served, |s| s.first_returns()),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Served, |s| s.then(|_| boom())),
        (Panic, Panicked, |s| s.end(End::Panic)),
    ];
    let clearing: Ways<G> = &[
        (Finish, Served, |s| s.both_return()),
        (Fail, Served, |s| s.die().both_return()),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).both_return()),
        (Panic, Served, |s| s.panic_in(Place::Wake).both_return()),
    ];
    let clearing_a_creation: Ways<G> = &[
        (Finish, Served, |s| s.create(End::Well)),
        (Fail, Served, |s| s.create(End::Error)),
        (Fail, Served, |s| s.creator_leaves()),
        (Panic, Served, |s| s.create(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).create(End::Well)),
        (Panic, Served, |s| s.panic_in(Place::Wake).create(End::Well)),
    ];

    vec![
        Scene::new(
            "not polled yet",
            |s| s.fill().ask(G::CALL).as_call(),
            &[(Finish, Served, |s| s.first_returns()), (Fail, Refused, |s| s.clear())],
        )
        .never(Panic, ONLY_MINES),
        Scene::new("in line", |s| s.fill().call_and_others(), in_line),
        Scene::new("handed a worker", |s| s.fill().call_and_others().first_returns(), handed),
        Scene::new(
            "granted a creation",
            |s| s.fill().call_and_others().die().first_returns(),
            granted,
        ),
        Scene::new("creating", |s| s.get(G::FULL[1]).shut().call_and_others(), creating),
        Scene::new(
            "creating, after idle workers that were dead",
            |s| s.fill().both_return().die().shut().call_and_others(),
            creating,
        ),
        Scene::new(
            "in line for a creation",
            |s| s.shut().get(G::FULL[1]).call_and_others(),
            behind_a_creation,
        )
        .narrow(),
        Scene::new(
            "in line, after an idle worker that was dead",
            |s| s.get(G::FULL[0]).shut().get(G::FULL[1]).first_returns().die().call_and_others(),
            behind_a_creation,
        )
        .narrow(),
        Scene::new(
            "creating in vain, for its class is full",
            |s| s.get(1).shut().call_and_others(),
            creating_in_vain,
        )
        .unless(G::NEVER_FULL),
        Scene::new(
            "in line again, for its class was full",
            |s| s.get(1).call_and_others(),
            in_line,
        )
        .unless(G::NEVER_FULL),
        Scene::new(
            "granted another creation, once its class had room",
            |s| s.get(1).call_and_others().die().first_returns(),
            granted,
        )
        .unless(G::NEVER_FULL),
        Scene::new(
            "in line, while a dead worker is destroyed",
            |s| s.get(G::FULL[1]).get(G::FULL[0]).call_and_others().die(),
            inside,
        )
        .inside(),
        Scene::new(
            "promised the slot of a victim",
            |s| s.get(3).get(1).get(3).as_call().get(3),
            inside,
        )
        .inside()
        .unless(G::NEVER_EVICTS),
        Scene::new(
            "told of a clear",
            |s| s.fill().call_and_others().clear(),
            &[(Finish, Failed, |s| s)],
        )
        .never(Fail, HAS_FAILED)
        .never(Panic, ONLY_MINES),
        Scene::new(
            "clearing, while workers are out",
            |s| s.fill().get(G::CALL).clear().as_call(),
            clearing,
        ),
        Scene::new(
            "clearing, beside an older clear",
            |s| s.fill().clear().clear().as_call(),
            clearing,
        ),
        Scene::new(
            "clearing, beside a younger clear",
            |s| s.fill().clear().as_call().clear(),
            clearing,
        ),
        Scene::new(
            "clearing, while a worker is created",
            |s| s.shut().get(G::CALL).clear().as_call(),
            clearing_a_creation,
        ),
        Scene::new(
            "clearing, while the last worker is destroyed",
            |s| s.fill().first_returns().clear().as_call(),
            &[
                (Finish, Served, |s| s.call_goes_on()),
                (Fail, Served, |s| s.clear()),
                (Panic, Served, |s| s.then(|_| boom())),
            ],
        )
        .inside(),
        Scene::new(
            "told of the end of its clear",
            |s| s.fill().clear().as_call().both_return(),
            &[(Finish, Served, |s| s)],
        )
        .never(Fail, HAS_ENDED)
        .never(Panic, ONLY_MINES),
    ]
}

/// How many cells there are of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cells {
    /// One for each place, on each way on.
    fine: usize,
    /// One for each call of the user's code.
    panics: usize,
    /// Nothing is called in that place.
    uncalled: usize,
    /// The call can't go on like this. Two for each place.
    impossible: usize,
}

fn run_all<G: Row>() -> Cells {
    hush();
    let mut cells = Cells::default();
    for scene in scenes::<G>() {
        for outcome in OUTCOMES {
            let ways = scene.ways.iter().filter(|end| end.0 == outcome);
            let never = scene.never.iter().find(|never| never.0 == outcome);
            assert_eq!(ways.clone().count() > 0, never.is_none(), "{}: {outcome:?}", scene.name);
            if let Some((_, why)) = never {
                eprintln!("{}, {outcome:?}: never, for {why}", scene.name);
                cells.impossible += 2 * PLACES.len();
            }
            for (number, &way) in ways.enumerate() {
                for place in PLACES {
                    let mut passes = 0;
                    while {
                        eprintln!("{}, {outcome:?} {number}: {place:?} {passes}", scene.name);
                        scene.run(way, (place, passes))
                    } {
                        passes += 1;
                    }
                    cells.fine += 1;
                    cells.panics += passes;
                    cells.uncalled += usize::from(passes == 0);
                }
            }
        }
    }
    cells
}

/// In a process of its own, so that an abort is seen. The last cell that it names is the one.
fn row<G: Row>(test: &str, expected: Cells) {
    in_own_process(test, || {
        watched(|| async move {
            let cells = run_all::<G>();
            println!("{cells:?}");
            assert_eq!(cells, expected);
        });
    });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn general() {
    row::<General>("general", Cells { fine: 1100, panics: 1340, uncalled: 685, impossible: 550 });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn keyed() {
    row::<Keyed>("keyed", Cells { fine: 1100, panics: 4367, uncalled: 103, impossible: 550 });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn classified() {
    row::<Classified>(
        "classified",
        Cells { fine: 1188, panics: 4988, uncalled: 105, impossible: 440 },
    );
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn any() {
    row::<Any>("any", Cells { fine: 1353, panics: 5969, uncalled: 130, impossible: 220 });
}
