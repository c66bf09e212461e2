//! A tour of a pool that treads on mines everywhere.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use sfo_pool::{PoolOptions, PoolResult};

pub use crate::common::mines::*;

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

/// The whole life of a pool, and what must be true of it whatever mines went off.
pub async fn live<G: Ground>() {
    let tally = Arc::new(Tally::default());
    let Some(pool) =
        take(Step::Call, || G::open(Barracks(Arc::clone(&tally)), PoolOptions::default()))
    else {
        return;
    };
    tour(&pool, &tally).await;
    check(&pool);
    let (mut a, mut b) = (Guest::new(&pool, 1), Guest::new(&pool, 2));
    a.leave();
    take(Step::Call, || drop(pool));
    b.leave();
    tally.audit(0);
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
    let pool = G::open(Barracks(Arc::clone(&tally)), PoolOptions::default());
    let (visited, visits) = (pool.clone(), Rc::new(Cell::new(0)));
    let counter = Rc::clone(&visits);
    let visit = move |place| {
        if !G::LOCKED.contains(&place) {
            counter.set(counter.get() + 1);
            act(&visited);
        }
    };
    visit_with(Some(Rc::new(visit)));
    tour(&pool, &tally).await;
    visit_with(None);
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
