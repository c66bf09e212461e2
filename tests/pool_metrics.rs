//! What a recorder of `metrics` is told.

mod page;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use sfo_pool::{PoolDestroyReason, PoolMetrics};

/// By the name, with its labels in the order of their names.
type Values = BTreeMap<String, DebugValue>;

fn values(snapshotter: &Snapshotter) -> Values {
    let all = snapshotter.snapshot().into_vec().into_iter();
    let named = all.map(|(key, unit, description, value)| {
        let (kind, key) = key.into_parts();
        assert!(unit.is_some() && description.is_some(), "{key} is described");
        assert_eq!(kind == MetricKind::Counter, key.name().ends_with("_total"), "{key}");
        assert_eq!(kind == MetricKind::Histogram, key.name().ends_with("_seconds"), "{key}");
        let labels: BTreeMap<_, _> = key.labels().map(|it| (it.key(), it.value())).collect();
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        (format!("{}{{{}}}", key.name(), labels.join(",")), value)
    });
    named.collect()
}

fn count(values: &Values, name: &str) -> f64 {
    match &values[name] {
        DebugValue::Counter(count) => *count as f64,
        DebugValue::Gauge(value) => value.0,
        DebugValue::Histogram(samples) => samples.len() as f64,
    }
}

fn samples(values: &Values, name: &str) -> Vec<f64> {
    let DebugValue::Histogram(samples) = &values[name] else { panic!("{name} is a histogram") };
    samples.iter().map(|sample| sample.0).collect()
}

async fn record(pools: &[&str]) -> Values {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let recording = metrics::set_default_local_recorder(&recorder);
    let observer = Arc::new(PoolMetrics::new());
    for pool in pools {
        story::live(pool, observer.clone()).await;
    }
    drop(recording);
    values(&snapshotter)
}

#[tokio::test(start_paused = true)]
async fn everything_is_counted_and_measured_once() {
    let values = record(&["users"]).await;
    for (name, expected) in [
        ("sfo_pool_workers_created_total{pool=users}", 2.0),
        ("sfo_pool_creations_failed_total{code=failed,pool=users}", 1.0),
        ("sfo_pool_creations_failed_total{code=timeout,pool=users}", 0.0),
        ("sfo_pool_acquired_total{pool=users,step=creating}", 2.0),
        ("sfo_pool_acquired_total{pool=users,step=waiting}", 1.0),
        ("sfo_pool_acquired_total{pool=users,step=idle}", 1.0),
        ("sfo_pool_acquired_total{pool=users,step=recycling}", 0.0),
        ("sfo_pool_workers_destroyed_total{pool=users,reason=panicked}", 1.0),
        ("sfo_pool_workers_destroyed_total{pool=users,reason=discarded}", 1.0),
        ("sfo_pool_workers_destroyed_total{pool=users,reason=unhealthy}", 0.0),
        ("sfo_pool_timeouts_total{pool=users,step=waiting}", 1.0),
        ("sfo_pool_refused_total{code=full,pool=users}", 1.0),
        ("sfo_pool_leaks_total{pool=users}", 1.0),
        ("sfo_pool_leaks_returned_total{pool=users}", 1.0),
        ("sfo_pool_cleared_total{pool=users}", 1.0),
        ("sfo_pool_closed_total{pool=users}", 1.0),
    ] {
        assert_eq!(count(&values, name), expected, "{name}");
    }
    assert_eq!(samples(&values, "sfo_pool_creation_seconds{pool=users}"), [0.02, 0.02]);
    assert_eq!(samples(&values, "sfo_pool_acquire_seconds{pool=users}"), [0.02, 2.0, 0.0, 0.02]);
    assert_eq!(samples(&values, "sfo_pool_wait_seconds{pool=users}"), [2.0, 5.0]);
    assert_eq!(samples(&values, "sfo_pool_hold_seconds{pool=users}"), [2.0, 11.0, 0.0, 0.0]);
}

#[tokio::test(start_paused = true)]
async fn the_gauges_of_a_pool_that_is_gone_are_at_zero() {
    let values = record(&["users"]).await;
    for name in ["workers", "workers_borrowed", "requests_waiting"] {
        assert_eq!(count(&values, &format!("sfo_pool_{name}{{pool=users}}")), 0.0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn pools_are_told_apart_by_their_name_and_added_up_under_one() {
    let values = record(&["users", "reports", "users", ""]).await;
    for (pool, lives) in [("users", 2.0), ("reports", 1.0), ("", 1.0)] {
        assert_eq!(count(&values, &format!("sfo_pool_leaks_total{{pool={pool}}}")), lives);
    }
}

#[tokio::test(start_paused = true)]
async fn no_label_has_more_values_than_are_known_beforehand() {
    let values = record(&["users"]).await;
    let of = |name: &str| values.keys().filter(|key| key.starts_with(name)).count();
    assert_eq!(of("sfo_pool_workers_destroyed_total"), PoolDestroyReason::ALL.len());
    assert!(values.keys().all(|key| !key.contains("east") && !key.contains("worker=")));
}

#[tokio::test(start_paused = true)]
async fn the_table_in_the_documentation_names_exactly_these_metrics() {
    let values = record(&["users"]).await;
    let known: BTreeSet<_> =
        values.keys().map(|key| key.split('{').next().unwrap().to_owned()).collect();
    let table: BTreeSet<_> = page::table("Metrics").into_iter().map(|(name, _)| name).collect();
    assert_eq!(table, known);
}
