//! Plays the contenders of a case in turn, round by round, so that whatever the machine does
//! meanwhile happens to all of them.

use std::time::{Duration, Instant};

use crate::report;
use crate::statistics::{Spread, spread};

/// A figure: all do the same work.
pub const CREATIONS_BY_GET: &str = "creations by get";

/// One scenario at one size.
pub struct Case {
    pub scenario: &'static str,
    pub size: Option<Size>,
    pub threads: usize,
    /// What a sample's figure says, where there is one.
    pub figure: Option<&'static str>,
    /// Whether the figure of each contender is how long it takes beside ours.
    pub is_ratio_to_ours: bool,
    pub targets: Vec<Target>,
}

#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub count: usize,
    pub of: &'static str,
}

/// What ours is to reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    Beside { rival: &'static str, at_most: f64 },
    Nanos { at_most: f64 },
    Figure { at_most: f64 },
}

impl Case {
    pub fn new(scenario: &'static str) -> Self {
        Self {
            scenario,
            size: None,
            threads: 1,
            figure: None,
            is_ratio_to_ours: false,
            targets: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_size(mut self, count: usize, of: &'static str) -> Self {
        self.size = Some(Size { count, of });
        self
    }

    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The figure of each contender is its time beside ours.
    #[must_use]
    pub fn with_ratio_to_ours(mut self) -> Self {
        self.is_ratio_to_ours = true;
        self
    }

    #[must_use]
    pub fn with_figure(mut self, figure: &'static str) -> Self {
        self.figure = Some(figure);
        self
    }

    #[must_use]
    pub fn with_target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    #[must_use]
    pub fn with_target_beside(self, rival: &'static str, at_most: f64) -> Self {
        self.with_target(Target::Beside { rival, at_most })
    }
}

pub struct Player {
    name: &'static str,
    /// `None` when patience came to its end.
    round: Box<dyn FnMut() -> Option<Sample>>,
}

impl Player {
    pub fn new(name: &'static str, round: impl FnMut() -> Option<Sample> + 'static) -> Self {
        Self { name, round: Box::new(round) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Sample {
    nanos: f64,
    figure: Option<f64>,
}

impl Sample {
    pub fn of_each(time: Duration, count: usize) -> Self {
        Self { nanos: time.as_nanos() as f64 / count as f64, figure: None }
    }

    pub fn of_all(time: Duration) -> Self {
        Self::of_each(time, 1)
    }

    #[must_use]
    pub fn with_figure(mut self, figure: f64) -> Self {
        self.figure = Some(figure);
        self
    }
}

/// The players of a case: a function that makes a round, for each type of pool.
#[macro_export]
macro_rules! players {
    ($round:ident $arguments:tt: $($pool:ty),+ $(,)?) => {
        vec![$($crate::harness::Player::new(
            <$pool as $crate::contenders::Contender>::NAME,
            $round::<$pool> $arguments,
        )),+]
    };
}

pub struct Outcome {
    pub case: Case,
    pub scores: Vec<Score>,
}

pub struct Score {
    pub name: &'static str,
    /// By round; a slow contender plays fewer.
    nanos: Vec<f64>,
    /// The worst of all rounds.
    pub figure: Option<f64>,
    pub gave_up: bool,
}

impl Score {
    pub fn rounds(&self) -> usize {
        self.nanos.len()
    }

    pub fn nanos(&self) -> Option<Spread> {
        spread(self.nanos.iter().copied())
    }

    /// The median of what each round says, for the two were neighbours then.
    pub fn ratio_to(&self, other: &Self) -> Option<f64> {
        let ratios = self.nanos.iter().zip(&other.nanos).map(|(own, others)| own / others);
        spread(ratios).map(|spread| spread.median)
    }
}

impl Outcome {
    pub fn score(&self, name: &str) -> Option<&Score> {
        self.scores.iter().find(|score| score.name == name)
    }
}

pub struct Harness {
    pub is_quick: bool,
    rounds: usize,
    dice: u64,
    pub outcomes: Vec<Outcome>,
}

impl Harness {
    pub fn new(is_quick: bool, rounds: Option<usize>) -> Self {
        let rounds = rounds.unwrap_or(if is_quick { 5 } else { 21 });
        Self { is_quick, rounds, dice: 0x9E37_79B9_7F4A_7C15, outcomes: Vec::new() }
    }

    /// Of two numbers the one for this run.
    pub fn pick<T>(&self, whole: T, quick: T) -> T {
        if self.is_quick { quick } else { whole }
    }

    pub fn measure(&mut self, case: Case, mut players: Vec<Player>) {
        let blank = |player: &Player| Score {
            name: player.name,
            nanos: Vec::new(),
            figure: None,
            gave_up: false,
        };
        let mut scores: Vec<Score> = players.iter().map(blank).collect();
        let mut spent = vec![Duration::ZERO; players.len()];
        let allowance = Duration::from_secs(self.pick(20, 3));
        let mut order: Vec<usize> = (0..players.len()).collect();

        // The first round warms up, and is counted only for those who have no time for a second.
        for round in 0..=self.rounds {
            self.shuffle(&mut order);
            for &index in &order {
                let score = &mut scores[index];
                if score.gave_up || spent[index] >= allowance {
                    continue;
                }
                let start = Instant::now();
                let sample = (players[index].round)();
                spent[index] += start.elapsed();
                let Some(Sample { nanos, figure }) = sample else {
                    score.gave_up = true;
                    continue;
                };
                if round > 0 || spent[index] >= allowance {
                    score.nanos.push(nanos);
                    score.figure = worse(score.figure, figure);
                }
            }
        }

        let outcome = Outcome { case, scores };
        print!("{}", report::rows(&outcome));
        self.outcomes.push(outcome);
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for end in (1..order.len()).rev() {
            self.dice ^= self.dice << 13;
            self.dice ^= self.dice >> 7;
            self.dice ^= self.dice << 17;
            order.swap(end, (self.dice % (end as u64 + 1)) as usize);
        }
    }
}

fn worse(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
