//! A small service whose pools can be watched: by Prometheus, in a log, and in a table in the terminal.
//!
//! Three pools talk to a backend in this process over TCP. The load goes through phases, over and over:
//! calm, a rush, a slow backend, a backend that drops everybody, guards that are kept and not used, and
//! recovery. The metrics are served for Prometheus, whose Grafana takes `grafana-dashboard.json`.
//!
//! | file | what it holds |
//! |---|---|
//! | `backend.rs` | the other side: slow, or down, as it is told |
//! | `connection.rs` | the worker and its factory |
//! | `pools.rs` | the three pools with their options and observers |
//! | `phase.rs` | what happens when |
//! | `load.rs` | requests |
//! | `sample.rs` | what is known of all pools at one moment |
//! | `log.rs`, `exporter.rs` | where `tracing` and `metrics` go |
//! | `table.rs`, `terminal.rs` | the table, and where it is shown |
//! | `svg.rs`, `picture.rs`, `chart.rs` | the table and the course of a run as pictures |
//!
//! ```text
//! cargo run --release --example service --features metrics,tracing -- [OPTION...]
//!
//! --seconds N   ends after N seconds, in which each phase comes once; else Ctrl-C or q ends it
//! --plain       prints the table as text each second, as it does where there is no terminal
//! --port P      where to serve the metrics on 127.0.0.1; 0, the default, takes any free port
//! --svg FILE    draws the table as it was towards the end of the leak
//! --chart FILE  draws the course of the run
//! ```

mod args;
mod backend;
mod chart;
mod connection;
mod exporter;
mod load;
mod log;
mod phase;
mod picture;
mod pools;
mod sample;
mod svg;
mod table;
mod terminal;

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use self::args::Args;
use self::backend::Backend;
use self::phase::{Phase, Plan};
use self::pools::Pools;
use self::sample::{Sample, Sampler};
use self::terminal::Display;

/// How often the pools are looked at.
const TICK: Duration = Duration::from_millis(250);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let args = Args::parse(std::env::args().skip(1))?;
    let log = log::start();
    let address = exporter::start(args.port)?;
    let backend = Backend::start().await?;
    let plan = Plan::new(args.seconds);
    let pools = Arc::new(Pools::new(&backend, &plan));
    let load = tokio::spawn(load::run(Arc::clone(&pools), backend, plan.clone()));

    let mut display = Display::open(args.is_plain, address)?;
    let mut sampler = Sampler::new();
    let mut samples: Vec<Sample> = Vec::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let start = Instant::now();
    let is_over = || args.seconds.is_some_and(|seconds| start.elapsed() >= seconds);
    let shown = loop {
        tokio::select! {
            _ = ticks.tick() => {}
            result = tokio::signal::ctrl_c() => break result.map_err(Into::into),
        }
        let sample = sampler.look(&pools, plan.phase(), plan.elapsed(), log.lines());
        match display.show(&sample) {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(error),
        }
        // Only for the pictures, and a service may run for long.
        if args.chart.is_some() || args.svg.is_some() {
            samples.push(sample);
        }
        if is_over() {
            break Ok(());
        }
    };
    drop(display);
    load.abort();
    shown?;

    if let Some(file) = &args.svg {
        let best = samples.iter().rfind(|sample| sample.phase == Phase::Leak).or(samples.last());
        write(file, &best.map(|best| picture::draw(best, address)).unwrap_or_default())?;
    }
    if let Some(file) = &args.chart {
        write(file, &chart::draw(&samples))?;
    }
    Ok(())
}

fn write(file: &str, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write {file}: {error}"))
}
