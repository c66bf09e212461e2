//! What a subscriber of `tracing` is told.

mod page;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sfo_pool::PoolTracing;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        write!(text, "{value:?}").unwrap();
        self.0.insert(field.name(), text);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

struct Told {
    level: Level,
    target: &'static str,
    /// From the root.
    spans: Vec<&'static str>,
    pool: Option<String>,
    fields: BTreeMap<&'static str, String>,
}

impl Told {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.fields))
    }

    fn message(&self) -> &str {
        self.field("message")
    }
}

#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<Told>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recording {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let scope = context.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        let mut told = Told {
            level: *event.metadata().level(),
            target: event.metadata().target(),
            spans: Vec::new(),
            pool: None,
            fields: fields.0,
        };
        for span in scope {
            told.spans.push(span.name());
            let extensions = span.extensions();
            let pool = extensions.get::<Fields>().and_then(|fields| fields.0.get("pool"));
            told.pool = pool.cloned().or(told.pool);
        }
        self.0.lock().unwrap().push(told);
    }
}

/// The story as a subscriber hears it, from inside a span of the application's own.
async fn record(tracing: PoolTracing) -> Vec<Told> {
    let recording = Recording::default();
    let subscriber = tracing_subscriber::registry().with(recording.clone());
    let heard = tracing::subscriber::set_default(subscriber);
    let request = tracing::info_span!("request").entered();
    story::live("users", Arc::new(tracing)).await;
    drop((request, heard));
    std::mem::take(&mut *recording.0.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_event_is_told_with_its_level_and_what_an_operator_asks() {
    let told = record(PoolTracing::new()).await;
    let lines: Vec<_> = told.iter().map(|it| (it.level.as_str(), it.message())).collect();
    assert_eq!(
        lines,
        [
            ("WARN", "creation failed"),
            ("DEBUG", "worker created"),
            ("TRACE", "worker acquired"),
            ("TRACE", "request waits"),
            ("WARN", "request refused"),
            ("TRACE", "worker returned"),
            ("TRACE", "request has waited"),
            ("WARN", "worker acquired slowly"),
            ("TRACE", "request waits"),
            ("TRACE", "request has waited"),
            ("WARN", "request timed out"),
            ("WARN", "worker held for too long"),
            ("WARN", "worker came back after all"),
            ("TRACE", "worker returned"),
            ("TRACE", "worker acquired"),
            ("TRACE", "worker returned"),
            ("WARN", "worker destroyed after a panic"),
            ("DEBUG", "worker created"),
            ("TRACE", "worker acquired"),
            ("TRACE", "worker returned"),
            ("DEBUG", "worker destroyed"),
            ("INFO", "pool cleared"),
            ("INFO", "pool closed"),
        ]
    );

    let find = |message| told.iter().find(|it| it.message() == message).unwrap();
    let failed = find("creation failed");
    assert_eq!((failed.field("key"), failed.field("code")), ("down", "failed"));
    assert!(failed.field("error").contains("cannot connect"), "{}", failed.field("error"));
    assert!(!failed.fields.contains_key("worker"));
    let created = find("worker created");
    assert_eq!((created.field("key"), created.field("took_ms")), ("east", "20.0"));
    assert_eq!(find("worker acquired").field("step"), "creating");
    assert_eq!(find("request refused").field("code"), "full");
    let slow = find("worker acquired slowly");
    assert_eq!((slow.field("step"), slow.field("took_ms")), ("waiting", "2000.0"));
    assert_eq!(slow.field("worker"), created.field("worker"));
    let timed_out = find("request timed out");
    assert_eq!((timed_out.field("step"), timed_out.field("took_ms")), ("waiting", "5000.0"));
    let held = find("worker held for too long");
    assert!(held.field("place").contains("story/mod.rs:"), "{}", held.field("place"));
    assert_eq!(held.field("place"), find("worker came back after all").field("place"));
    assert_eq!(find("worker destroyed after a panic").field("reason"), "panicked");
    assert_eq!(find("worker destroyed").field("reason"), "discarded");
}

#[tokio::test(start_paused = true)]
async fn every_event_comes_in_a_span_that_names_the_pool_inside_the_callers() {
    for told in record(PoolTracing::new()).await {
        assert_eq!(told.target, "sfo_pool");
        assert_eq!(told.pool.as_deref(), Some("users"), "{}", told.message());
        assert_eq!(told.spans.last(), Some(&"pool"), "{}", told.message());
        assert_eq!(told.spans[0], "request", "{}", told.message());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_slow_is_for_the_user_to_say() {
    let slow = async |threshold| {
        let told = record(PoolTracing::new().with_slow_acquire(threshold)).await;
        told.iter().filter(|it| it.message() == "worker acquired slowly").count()
    };
    assert_eq!(slow(None).await, 0);
    assert_eq!(slow(Some(Duration::from_secs(3))).await, 0);
    assert_eq!(slow(Some(Duration::from_secs(2))).await, 1);
    assert_eq!(slow(Some(Duration::ZERO)).await, 4);
}

#[tokio::test(start_paused = true)]
async fn the_table_in_the_documentation_names_exactly_these_events() {
    let told = record(PoolTracing::new()).await;
    let told: BTreeSet<_> =
        told.iter().map(|it| (it.message().to_owned(), it.level.to_string())).collect();
    let table: BTreeSet<_> = page::table("Events of `tracing`").into_iter().collect();
    assert_eq!(table, told);
}
