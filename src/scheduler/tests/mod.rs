//! The scheduler alone, in a world that plays the part of everything around it.
//!
//! Whatever happens outside the scheduler (a worker that is asked, a destructor that runs, a
//! creation that ends) is an event of its own, so that every interleaving of the shell is a history
//! here. After every event every invariant is checked.

#[cfg(test)]
mod agreement;
mod apart;
#[cfg(test)]
mod arena;
pub(super) mod bytes;
mod choices;
mod comparison;
#[cfg(test)]
mod crowds;
mod events;
mod expected;
#[cfg(test)]
mod exploration;
#[cfg(test)]
mod fingerprint;
#[cfg(test)]
mod histories;
mod invariants;
mod keeper;
mod model;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod steps;
mod world;
