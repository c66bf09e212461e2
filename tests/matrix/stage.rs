//! A pool, all who call it, and the steps of which the scenes are made.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sfo_pool::PoolResult;
use tokio::runtime::Runtime;
use tokio::time::advance;

use super::guest::{Guest, Player, Row, take};
use super::kits::Kit;
use crate::common::mines::*;
use crate::common::{let_tasks_run, secs};

/// How long a call with a deadline may take.
pub const LIMIT: Duration = secs(5);

/// Longer than any other time that an option sets, though a few of these are within the deadline.
pub const SPAN: Duration = Duration::from_millis(250);

/// A pool and all who call it.
pub struct Stage<G: Row> {
    pub pool: G,
    pub tally: Arc<Tally>,
    /// Where its tasks run, and whose clock it has.
    pub runtime: Rc<Runtime>,
    kit: Kit,
    /// Whether the call under test has a deadline.
    is_timed: bool,
    /// In the order in which they came.
    guests: RefCell<Vec<Player<G>>>,
    call: RefCell<Option<Player<G>>>,
    pub is_closed: Cell<bool>,
    is_shrunk: Cell<bool>,
}

impl<G: Row> Stage<G> {
    /// To be called, as all that follows, within the runtime.
    pub fn open(kit: Kit, is_timed: bool, runtime: Rc<Runtime>) -> Rc<Self> {
        let tally = Arc::default();
        Rc::new(Self {
            pool: G::open(Barracks(Arc::clone(&tally)), (kit.options)()),
            tally,
            runtime,
            kit,
            is_timed,
            guests: RefCell::default(),
            call: RefCell::default(),
            is_closed: Cell::new(false),
            is_shrunk: Cell::new(false),
        })
    }

    fn add(&self, is_clear: bool, attempt: Attempt<Option<PoolResult<G::Guard>>>) -> Player<G> {
        let guest = Rc::new(Guest::new(is_clear, attempt, &self.tally));
        self.guests.borrow_mut().push(Rc::clone(&guest));
        guest
    }

    pub fn add_get(&self, name: u32) -> Player<G> {
        self.add_attempt(self.pool.get(name))
    }

    fn add_attempt(&self, attempt: Attempt<PoolResult<G::Guard>>) -> Player<G> {
        self.add(false, Box::pin(async move { Some(attempt.await) }))
    }

    fn add_end(&self, attempt: Attempt<()>) -> Player<G> {
        let attempt = async move {
            attempt.await;
            None
        };
        self.add(true, Box::pin(attempt))
    }

    pub fn guest(&self, number: usize) -> Player<G> {
        Rc::clone(&self.guests.borrow()[number])
    }

    pub fn call(&self) -> Player<G> {
        self.call.borrow().clone().expect("the scene is set")
    }

    /// He whose creation is at the gate.
    fn creator(&self) -> Player<G> {
        let guests = self.guests.borrow();
        Rc::clone(guests.iter().find(|guest| guest.may_go_on()).expect("somebody creates"))
    }

    pub fn is_clearing(&self) -> bool {
        self.guests.borrow().iter().any(|guest| guest.is_clear && guest.waits())
    }

    /// No slot is lost and none won, and the next one is served; nothing is left if the pool is closed.
    pub fn check(&self) -> Option<Player<G>> {
        let rest = || {
            if self.kit.has_tasks {
                self.rest();
            }
        };
        if self.is_closed.get() {
            assert!(poll_beside(&mut self.pool.close(), &rest).is_ready(), "a slot was lost");
            return None;
        }
        rest();
        if self.is_shrunk.get() {
            assert!(self.tally.live() <= 1, "a worker is left above the new limit");
            self.pool.resize(2);
        }
        fill_beside(&self.pool, &rest);
        check_beside(&self.pool, &rest);
        let last = self.add_get(G::CALL);
        self.enter(&last);
        Some(last)
    }

    /// All go on until nobody can, and those who got a worker return it.
    pub fn play_out(&self) {
        let mut rests = 0;
        loop {
            let guests = self.guests.borrow().clone();
            guests.iter().for_each(|guest| guest.poll());
            if let Some(holder) = guests.iter().find(|guest| guest.has_worker()) {
                holder.leave();
            } else if !guests.iter().any(|guest| guest.may_go_on()) {
                let waiting = guests.iter().filter(|guest| guest.waits()).count();
                if waiting == 0 {
                    return;
                }
                assert!(rests < self.kit.max_rests(), "wakes were lost");
                rests += 1;
                self.rest();
            }
        }
    }

    /// The tasks do what there is to do, and a pause ends if there can be one.
    fn rest(&self) {
        self.pass(if self.kit.has_pauses { SPAN } else { Duration::ZERO });
    }

    /// Lets the tasks run, and time pass.
    fn pass(&self, time: Duration) {
        drive(|| {
            self.runtime.block_on(async {
                let_tasks_run().await;
                if !time.is_zero() {
                    advance(time).await;
                    let_tasks_run().await;
                }
            });
        });
    }

    /// Lets somebody make his first move.
    fn enter(&self, guest: &Guest<G>) {
        guest.poll();
        if self.kit.has_tasks {
            self.pass(Duration::ZERO);
            guest.poll();
        }
    }
}

/// The steps of which scenes, and ways on from them, are made.
impl<G: Row> Stage<G> {
    pub fn then(&self, step: impl FnOnce(&Self)) -> &Self {
        step(self);
        self
    }

    pub fn get(&self, name: u32) -> &Self {
        self.then(|s| s.enter(&s.add_get(name)))
    }

    pub fn fill(&self) -> &Self {
        self.get(G::FULL[0]).get(G::FULL[1])
    }

    pub fn clear(&self) -> &Self {
        self.then(|s| s.add_end(s.pool.clear()).poll())
    }

    pub fn close(&self) -> &Self {
        self.is_closed.set(true);
        self.then(|s| s.add_end(s.pool.close()).poll())
    }

    pub fn invalidate(&self) -> &Self {
        self.then(|s| _ = take(|| s.pool.invalidate()))
    }

    /// There may be but one worker from now on.
    pub fn shrink(&self) -> &Self {
        self.is_shrunk.set(true);
        self.then(|s| _ = take(|| s.pool.resize(1)))
    }

    /// Who came last makes the call under test.
    pub fn as_call(&self) -> &Self {
        let call = self.guests.borrow().last().cloned();
        self.then(|s| *s.call.borrow_mut() = call)
    }

    /// Makes the call under test, and does not go on with it yet.
    pub fn ask_call(&self, name: u32) -> &Self {
        if self.is_timed {
            self.add_attempt(self.pool.get_within(name, LIMIT));
        } else {
            self.add_get(name);
        }
        self.as_call()
    }

    pub fn get_call(&self, name: u32) -> &Self {
        self.ask_call(name).then(|s| s.enter(&s.call()))
    }

    /// The call, and behind it somebody who wants the same and somebody who wants another.
    pub fn call_and_others(&self) -> &Self {
        self.get_call(G::CALL).get(G::CALL).get(2)
    }

    pub fn call_goes_on(&self) -> &Self {
        self.then(|s| s.call().poll())
    }

    pub fn first_returns(&self) -> &Self {
        self.then(|s| s.guest(0).leave())
    }

    pub fn both_return(&self) -> &Self {
        self.first_returns().second_returns()
    }

    /// All workers are dead from now on.
    pub fn die(&self) -> &Self {
        self.then(|s| s.tally.kill_all())
    }

    pub fn second_returns(&self) -> &Self {
        self.then(|s| s.guest(1).leave())
    }

    pub fn shut(&self, job: Job) -> &Self {
        self.then(|s| s.tally.shut(job))
    }

    /// The next creation ends so.
    pub fn end(&self, end: End) -> &Self {
        self.then(|s| s.tally.end(Job::Create, end))
    }

    /// The next call of `recycle` ends so.
    pub fn recycle(&self, end: End) -> &Self {
        self.then(|s| s.tally.end(Job::Recycle, end))
    }

    /// The next call of `destroy` ends so.
    pub fn destroy(&self, end: End) -> &Self {
        self.then(|s| s.tally.end(Job::Destroy, end)).run_tasks()
    }

    pub fn run_tasks(&self) -> &Self {
        self.then(|s| s.pass(Duration::ZERO))
    }

    /// A pause ends, or the time of what the user's code does.
    pub fn pause(&self) -> &Self {
        self.then(|s| s.pass(SPAN))
    }

    /// The time of the call is up.
    pub fn be_late(&self) -> &Self {
        self.then(|s| s.pass(LIMIT))
    }

    /// The oldest creation ends.
    pub fn create(&self, end: End) -> &Self {
        self.end(end).then(|s| s.creator().poll())
    }

    pub fn creator_leaves(&self) -> &Self {
        self.then(|s| s.creator().leave())
    }

    pub fn panic_in(&self, place: Place) -> &Self {
        self.then(|_| ambush(place, boom))
    }
}
