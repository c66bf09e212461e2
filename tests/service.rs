//! What Prometheus and Grafana get from pools under load: a page that a parser of others understands, and
//! a dashboard and a table that name what is on it.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use metrics_exporter_prometheus::{BuildError, ExporterFuture, Matcher, PrometheusBuilder};
use prometheus_parse::{Sample, Scrape, Value};
use serde_json::Value as Json;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolMetrics,
    PoolOptions, PoolResult, PoolTracing, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig,
    pool_err,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

const DASHBOARD: &str = include_str!("../examples/service/grafana-dashboard.json");
const POOLS: [&str; 3] = ["general", "keyed", "classified"];
/// Tasks for each pool, and what each of them asks for.
const TASKS: u64 = 24;
const REQUESTS: u64 = 40;

/// Dies after some uses.
struct Connection {
    host: u8,
    uses: AtomicU64,
}

impl Connection {
    fn answer(&self) -> bool {
        self.uses.fetch_add(1, Ordering::Relaxed) < 50
    }
}

impl Worker for Connection {
    fn is_work(&self) -> bool {
        self.answer()
    }
}

impl KeyedWorker<u8> for Connection {
    fn is_work(&self) -> bool {
        self.answer()
    }

    fn supports(&self, host: u8) -> bool {
        self.host == host
    }

    fn primary_key(&self) -> u8 {
        self.host
    }
}

impl ClassifiedWorker<u8> for Connection {
    fn is_work(&self) -> bool {
        self.answer()
    }

    fn is_valid(&self, host: u8) -> bool {
        self.host == host
    }

    fn classification(&self) -> u8 {
        self.host
    }
}

/// Fails each seventh time.
#[derive(Default)]
struct Hosts(AtomicU64);

impl Hosts {
    async fn connect(&self, host: u8) -> PoolResult<Connection> {
        sleep(Duration::from_millis(2)).await;
        if self.0.fetch_add(1, Ordering::Relaxed) % 7 == 6 {
            return Err(pool_err!("connection refused"));
        }
        Ok(Connection { host, uses: AtomicU64::new(0) })
    }
}

#[async_trait]
impl WorkerFactory<Connection> for Hosts {
    async fn create(&self) -> PoolResult<Connection> {
        self.connect(0).await
    }
}

#[async_trait]
impl KeyedWorkerFactory<u8, Connection> for Hosts {
    async fn create(&self, host: u8) -> PoolResult<Connection> {
        self.connect(host).await
    }
}

#[async_trait]
impl ClassifiedWorkerFactory<u8, Connection> for Hosts {
    async fn create(&self, host: Option<u8>) -> PoolResult<Connection> {
        self.connect(host.unwrap_or(0)).await
    }
}

/// The exporter's own listener, on a port that was free a moment ago.
fn export() -> (SocketAddr, ExporterFuture) {
    loop {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let exporter = PrometheusBuilder::new()
            .with_http_listener(address)
            .set_buckets_for_metric(Matcher::Prefix("sfo_pool_".to_owned()), &PoolMetrics::BUCKETS)
            .unwrap()
            .build();
        match exporter {
            Ok((recorder, exporter)) => {
                metrics::set_global_recorder(recorder).unwrap();
                return (address, exporter);
            }
            Err(BuildError::FailedToCreateHTTPListener(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn scrape(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let (head, page) = response.split_once("\r\n\r\n").ok_or("no HTTP")?;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.to_lowercase().contains("content-type: text/plain"), "{head}");
    Ok(page.to_owned())
}

fn parse(page: &str) -> Scrape {
    Scrape::parse(page.lines().map(|line| Ok(line.to_owned()))).unwrap()
}

/// The sum of a counter, a gauge, or the count of a histogram.
fn sum(scrape: &Scrape, name: &str, pool: &str) -> f64 {
    let of = |it: &&Sample| it.metric == name && it.labels.get("pool") == Some(pool);
    let values = scrape.samples.iter().filter(of).map(|sample| match &sample.value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => *value,
        Value::Histogram(buckets) => buckets.last().unwrap().count,
        Value::Summary(_) => panic!("{name} is a summary, for it has no buckets"),
    });
    values.sum()
}

/// Everything that the example's dashboard asks Prometheus for.
fn queries(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Json::String(query) if matches!(name.as_str(), "expr" | "definition") => {
                        found.push(query.clone());
                    }
                    _ => queries(value, found),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

/// The names of our metrics in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_part(c)).filter(|word| word.starts_with("sfo_pool_"))
}

fn options(name: &str) -> PoolOptions {
    PoolOptions::default()
        .with_name(name)
        .with_observer(Arc::new(PoolMetrics::new()))
        .with_observer(Arc::new(PoolTracing::new()))
        .with_acquire_timeout(Some(Duration::from_millis(250)))
        .with_max_waiting_count(Some(16))
}

/// How requests have ended, over all tasks.
#[derive(Default)]
struct Ends {
    served: AtomicU64,
    failed: AtomicU64,
}

impl Ends {
    async fn count<G>(&self, request: impl Future<Output = PoolResult<G>>) {
        match request.await {
            Ok(guard) => {
                sleep(Duration::from_millis(1)).await;
                drop(guard);
                self.served.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => _ = self.failed.fetch_add(1, Ordering::Relaxed),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_the_dashboard_and_the_table_name_the_same_metrics_and_the_sums_are_right() {
    let (address, exporter) = export();
    tokio::spawn(exporter);

    let general = WorkerPool::new_with_options(
        Hosts::default(),
        WorkerPoolConfig::default().with_max_count(Some(4)),
        options("general"),
    );
    let keyed = KeyedWorkerPool::new_with_options(
        Hosts::default(),
        KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(2)),
        options("keyed"),
    );
    let classified = ClassifiedWorkerPool::new_with_options(
        Hosts::default(),
        ClassifiedWorkerPoolConfig::default().with_max_count(Some(4)),
        options("classified"),
    );
    let ends: Arc<[Ends; 3]> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..TASKS {
        let host = (number % 3) as u8;
        let (general, keyed, classified) = (general.clone(), keyed.clone(), classified.clone());
        let ends = ends.clone();
        tasks.spawn(async move {
            for _ in 0..REQUESTS {
                ends[0].count(general.get_worker()).await;
                ends[1].count(keyed.get_worker(host)).await;
                ends[2].count(classified.get_classified_worker(host)).await;
            }
        });
    }
    // A page that is rendered while everything moves is as good as one at rest.
    let busy = parse(&scrape(address).await.unwrap());
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    let page = scrape(address).await.unwrap();
    let rest = parse(&page);

    // Each line is one that the parser knows: it passes over what it does not understand.
    let is_ours = |line: &&str| line.starts_with("sfo_pool_");
    let lines = page.lines().filter(is_ours).count();
    let per_sample = |sample: &Sample| match &sample.value {
        Value::Histogram(buckets) => buckets.len(),
        Value::Untyped(_) => {
            // The sum and the count of a histogram, which the parser leaves alone.
            let (base, _) = sample.metric.rsplit_once('_').unwrap();
            assert!(page.contains(&format!("# TYPE {base} histogram\n")), "{}", sample.metric);
            1
        }
        _ => 1,
    };
    let ours = || rest.samples.iter().filter(|sample| sample.metric.starts_with("sfo_pool_"));
    assert_eq!(ours().map(per_sample).sum::<usize>(), lines, "{page}");

    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types = types.filter(|(name, _)| name.starts_with("sfo_pool_"));
    let known: BTreeMap<_, _> = types.map(|(name, kind)| (name.to_owned(), kind)).collect();
    for name in known.keys() {
        assert!(page.contains(&format!("# HELP {name} ")), "{name} has no help");
        for pool in POOLS {
            let is_there =
                |sample: &Sample| sample.metric == *name && sample.labels.get("pool") == Some(pool);
            assert!(rest.samples.iter().any(is_there), "{name} of {pool} is missing");
        }
    }

    let table = page::table("Metrics");
    let kinds: BTreeMap<_, _> = table.iter().map(|(name, kind)| (name.clone(), &**kind)).collect();
    assert_eq!(kinds, known, "the table of doc/observing.md");

    let mut asked = Vec::new();
    queries(&serde_json::from_str(DASHBOARD).unwrap(), &mut asked);
    let mut shown = BTreeSet::new();
    for name in asked.iter().flat_map(|query| names(query)) {
        let base = name.strip_suffix("_bucket").unwrap_or(name);
        assert!(known.contains_key(base), "the dashboard asks for {name}");
        assert_eq!(name != base, known[base] == "histogram", "the dashboard asks for {name}");
        assert!(page.contains(&format!("\n{name}{{")), "the dashboard asks for {name}");
        shown.insert(base.to_owned());
    }
    assert_eq!(shown, known.keys().cloned().collect(), "what the dashboard shows");

    let totals = [general.status().total, keyed.status().total, classified.status().total];
    for ((pool, ends), total) in POOLS.into_iter().zip(&*ends).zip(totals) {
        let of = |name: &str| sum(&rest, &format!("sfo_pool_{name}"), pool);
        let served = ends.served.load(Ordering::Relaxed) as f64;
        let failed = ends.failed.load(Ordering::Relaxed) as f64;
        assert_eq!(served + failed, (TASKS * REQUESTS) as f64);
        assert!(served > 0.0 && failed > 0.0, "{pool}: {served} served, {failed} failed");
        assert_eq!(of("acquired_total"), served, "{pool}");
        assert_eq!(of("acquire_seconds"), served, "{pool}");
        assert_eq!(of("hold_seconds"), served, "{pool}");
        assert_eq!(of("workers_borrowed"), 0.0, "{pool}");
        assert_eq!(of("requests_waiting"), 0.0, "{pool}");
        assert_eq!(of("workers"), total as f64, "{pool}");
        assert_eq!(of("workers_created_total"), of("creation_seconds"), "{pool}");
        let gone = of("workers_destroyed_total");
        assert_eq!(of("workers_created_total"), gone + of("workers"), "{pool}");
        let refused = of("refused_total") + of("timeouts_total") + of("creations_failed_total");
        assert_eq!(refused, failed, "{pool}");
        assert!(sum(&busy, "sfo_pool_acquired_total", pool) <= served, "{pool}");
    }
}
