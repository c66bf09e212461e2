//! The scheduler alone, in a world that plays the part of everything around it.
//!
//! Whatever happens outside the scheduler (a worker that is asked, a destructor that runs, a
//! creation that ends) is an event of its own, so that every interleaving of the shell is a history
//! here. After every event every invariant is checked.

mod agreement;
mod exploration;
mod fingerprint;
mod histories;
mod invariants;
mod model;
mod regressions;
mod world;
