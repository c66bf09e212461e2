//! The parts of the benchmark; README.md says how to run it.

pub mod chart;
pub mod contenders;
pub mod harness;
pub mod limits;
pub mod machine;
pub mod report;
pub mod scenarios;
pub mod stage;
pub mod statistics;
pub mod worker;
