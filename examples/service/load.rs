use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use sfo_pool::{ClassifiedWorkerGuard, KeyedWorkerGuard, WorkerGuard};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::backend::Backend;
use crate::connection::Connection;
use crate::phase::{Phase, Plan};
use crate::pools::{Pools, Region, Size};

/// How often requests are sent on their way.
const STEP: Duration = Duration::from_millis(5);
/// How many guards are kept while they leak.
const LEAKS: usize = 9;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Sends requests for ever, as many as the phase says, whether those before are served or not.
pub async fn run(pools: Arc<Pools>, backend: Backend, plan: Plan) {
    let mut phase = None;
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut last = Instant::now();
    let mut due = 0.0;
    let mut number = 0;
    loop {
        steps.tick().await;
        let now = plan.phase();
        if phase.replace(now) != Some(now) {
            backend.answer_after(now.answer());
            backend.set_down(now == Phase::BackendDown).await;
            if now == Phase::Leak {
                leak(&pools, &plan);
            }
        }
        due += now.rate() * last.elapsed().as_secs_f64();
        last = Instant::now();
        // After a pause of the whole machine it does not catch up at once.
        due = due.min(50.0);
        while due >= 1.0 {
            due -= 1.0;
            number += 1;
            // What callers see of errors is in the metrics and in the log.
            tokio::spawn(general(Arc::clone(&pools)));
            tokio::spawn(keyed(Arc::clone(&pools), region(number)));
            tokio::spawn(classified(Arc::clone(&pools), size(number)));
        }
    }
}

fn region(number: usize) -> Region {
    // One of them is as busy as the two others together.
    [Region::East, Region::West, Region::East, Region::North][number % 4]
}

fn size(number: usize) -> Size {
    [Size::Small, Size::Medium, Size::Small, Size::Large][number / 3 % 4]
}

async fn general(pools: Arc<Pools>) -> Outcome {
    let mut guard = pools.general.get_worker().await?;
    WorkerGuard::set_label(&guard, "query");
    query(&mut guard).await
}

async fn keyed(pools: Arc<Pools>, region: Region) -> Outcome {
    let mut guard = pools.keyed.get_worker(region).await?;
    KeyedWorkerGuard::set_label(&guard, "query");
    query(&mut guard).await
}

async fn classified(pools: Arc<Pools>, size: Size) -> Outcome {
    let mut guard = pools.classified.get_classified_worker(size).await?;
    ClassifiedWorkerGuard::set_label(&guard, "query");
    query(&mut guard).await
}

async fn query(connection: &mut Connection) -> Outcome {
    let answer = connection.ask("select").await?;
    if answer == "select" { Ok(()) } else { Err("that is somebody else's answer".into()) }
}

/// A report that keeps its connections until it is done, as nobody should.
fn leak(pools: &Arc<Pools>, plan: &Plan) {
    for _ in 0..LEAKS {
        let (pools, plan) = (Arc::clone(pools), plan.clone());
        tokio::spawn(async move {
            let guard = pools.general.get_worker().await;
            let guard = guard.inspect(|guard| WorkerGuard::set_label(guard, "nightly report"));
            while plan.phase() == Phase::Leak {
                sleep(plan.unit() / 4).await;
            }
            drop(guard);
        });
    }
}
