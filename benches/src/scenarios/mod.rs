//! What is measured. Each scenario says what the pool has to do, at which sizes, who takes part,
//! and what ours is to reach.

mod cancelled;
mod chain;
mod classified;
mod cold;
mod crowd;
mod dead;
mod keyed;
mod warm;

use crate::harness::Harness;

pub struct Scenario {
    pub id: &'static str,
    pub title: &'static str,
    pub run: fn(&mut Harness),
    /// How much more the largest size may cost than the smallest, on one thread.
    pub growth: Option<f64>,
}

impl Scenario {
    const fn new(id: &'static str, title: &'static str, run: fn(&mut Harness)) -> Self {
        Self { id, title, run, growth: None }
    }

    const fn growing(mut self, at_most: f64) -> Self {
        self.growth = Some(at_most);
        self
    }
}

/// Flat, but for the caches.
const FLAT: f64 = 2.0;

pub const ALL: &[Scenario] = &[
    Scenario::new("S1", "get + drop, warm", warm::one_task),
    Scenario::new("S1i", "get + drop with an idle timeout of 60 s", warm::idle_timeout),
    Scenario::new("S1x2", "get + drop, two threads in tight loops", warm::two_threads),
    Scenario::new("S1w", "get + drop, warm, with somebody who wants to know", warm::watched),
    Scenario::new("S2", "16 tasks, pool of 16: get, yield, drop", crowd::enough),
    Scenario::new("S3", "64 tasks, pool of 4: get, yield, drop", crowd::saturated),
    Scenario::new("S4", "a worker handed from waiter to waiter", chain::hand_off).growing(FLAT),
    Scenario::new("S5", "release + get after waiters were cancelled", cancelled::waiters),
    Scenario::new("S6a", "keyed get + drop", keyed::warm),
    Scenario::new("S6b", "keyed get + drop beside waiters of other keys", keyed::beside_waiters),
    Scenario::new("S6c", "waiters of many keys served, each", keyed::drain),
    Scenario::new("S6d", "keyed get + drop, two threads, disjoint keys", keyed::two_threads),
    Scenario::new("S7a", "classified get + drop", classified::warm).growing(2.0),
    Scenario::new("S7b", "classified eviction: each get is of another class", classified::evict),
    Scenario::new("S8", "every worker dead after use, each waiter", dead::all).growing(FLAT),
    Scenario::new("S8k", "a dead return beside waiters of another key", dead::beside_waiters)
        .growing(FLAT),
    Scenario::new("S9", "1,000 gets, cold pool of 64, creation 1 ms", cold::burst),
];
