//! Every item of the published 0.4.1 goes on compiling, with the same meaning.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sfo_pool::*;

struct W(u32);
struct F;

impl Worker for W {
    fn is_work(&self) -> bool {
        true
    }
}

// An implementation may carry the attribute that the trait has, as those above need not.
#[async_trait::async_trait]
impl KeyedWorker<u32> for W {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, key: u32) -> bool {
        key == self.0
    }

    fn primary_key(&self) -> u32 {
        self.0
    }
}

#[async_trait::async_trait]
impl ClassifiedWorker<u32> for W {
    fn is_work(&self) -> bool {
        true
    }

    fn is_valid(&self, c: u32) -> bool {
        c == self.0
    }

    fn classification(&self) -> u32 {
        self.0
    }
}

#[async_trait::async_trait]
impl WorkerFactory<W> for F {
    async fn create(&self) -> PoolResult<W> {
        Ok(W(0))
    }
}

#[async_trait::async_trait]
impl KeyedWorkerFactory<u32, W> for F {
    async fn create(&self, key: u32) -> PoolResult<W> {
        Ok(W(key))
    }
}

// Without the macro, as it is written out.
impl ClassifiedWorkerFactory<u32, W> for F {
    fn create<'life0, 'async_trait>(
        &'life0 self,
        c: Option<u32>,
    ) -> Pin<Box<dyn Future<Output = PoolResult<W>> + Send + 'async_trait>>
    where
        Self: 'async_trait,
        'life0: 'async_trait,
    {
        Box::pin(async move { Ok(W(c.unwrap_or_default())) })
    }
}

#[test]
fn constructors_and_methods_have_the_signatures_of_0_4_1() {
    let _: fn(u16, F) -> WorkerPoolRef<W, F> = WorkerPool::new;
    let _: fn(F, WorkerPoolConfig) -> WorkerPoolRef<W, F> = WorkerPool::new_with_config;
    let _: fn(&WorkerPool<W, F>) -> usize = WorkerPool::cleanup_idle_worker;
    let _: fn(F, KeyedWorkerPoolConfig) -> KeyedWorkerPoolRef<u32, W, F> = KeyedWorkerPool::new;
    let _: fn(&KeyedWorkerPool<u32, W, F>) -> usize = KeyedWorkerPool::cleanup_idle_worker;
    let _: fn(F, ClassifiedWorkerPoolConfig) -> ClassifiedWorkerPoolRef<u32, W, F> =
        ClassifiedWorkerPool::new;
    let _: fn(&ClassifiedWorkerPool<u32, W, F>) -> usize =
        ClassifiedWorkerPool::cleanup_idle_worker;
}

#[test]
fn configs_have_the_methods_and_traits_of_0_4_1() {
    fn is_config<T: std::fmt::Debug + Clone + Default>() {}
    is_config::<WorkerPoolConfig>();
    is_config::<KeyedWorkerPoolConfig>();
    is_config::<ClassifiedWorkerPoolConfig>();

    let _: fn(WorkerPoolConfig, Option<u16>) -> WorkerPoolConfig = WorkerPoolConfig::with_max_count;
    let _: fn(WorkerPoolConfig, Option<u16>) -> WorkerPoolConfig =
        WorkerPoolConfig::with_max_idle_count;
    let _: fn(WorkerPoolConfig, Option<Duration>) -> WorkerPoolConfig =
        WorkerPoolConfig::with_idle_timeout;
    let _: fn(KeyedWorkerPoolConfig, Option<Duration>) -> KeyedWorkerPoolConfig =
        KeyedWorkerPoolConfig::with_idle_timeout;
    let _: fn(KeyedWorkerPoolConfig, Option<u16>) -> KeyedWorkerPoolConfig =
        KeyedWorkerPoolConfig::with_max_count_per_key;
    let _: fn(KeyedWorkerPoolConfig, Option<u16>) -> KeyedWorkerPoolConfig =
        KeyedWorkerPoolConfig::with_max_idle_count_per_key;
}

#[test]
fn the_classified_config_has_exactly_three_public_fields() {
    let config = ClassifiedWorkerPoolConfig {
        max_count: Some(1),
        idle_timeout: None,
        max_count_per_classification: None,
    };
    let ClassifiedWorkerPoolConfig { max_count, idle_timeout, max_count_per_classification } =
        config;
    let _: (Option<u16>, Option<Duration>) = (max_count, idle_timeout);
    let _: Option<u16> = max_count_per_classification;
}

#[tokio::test]
async fn a_worker_of_each_pool_is_used_through_its_guard() {
    let pool: Arc<WorkerPool<W, F>> = WorkerPool::new(1, F);
    let mut guard: WorkerGuard<W, F> = pool.get_worker().await.unwrap();
    guard.0 += 1;
    assert_eq!(guard.0, 1);
    drop(guard);
    let () = pool.clear_all_worker().await;

    let pool: Arc<KeyedWorkerPool<u32, W, F>> = KeyedWorkerPool::new(F, Default::default());
    let guard: KeyedWorkerGuard<u32, W, F> = pool.get_worker(3).await.unwrap();
    assert_eq!(guard.0, 3);
    drop(guard);
    let () = pool.clear_all_worker().await;

    let pool: Arc<ClassifiedWorkerPool<u32, W, F>> =
        ClassifiedWorkerPool::new(F, Default::default());
    let guard: ClassifiedWorkerGuard<u32, W, F> = pool.get_worker().await.unwrap();
    assert_eq!(guard.0, 0);
    let other: ClassifiedWorkerGuard<u32, W, F> = pool.get_classified_worker(4).await.unwrap();
    assert_eq!(other.0, 4);
    drop((guard, other));
    let () = pool.clear_all_worker().await;
}

#[test]
fn a_key_and_a_class_need_no_implementation_of_their_own() {
    fn is_key<T: WorkerKey + WorkerClassification>() {}
    fn of_bounds<T: Send + 'static + Clone + std::hash::Hash + Eq + PartialEq>() {
        is_key::<T>();
    }
    of_bounds::<String>();
}

/// Guards and pools are stored with no other bounds than their own.
#[allow(dead_code, reason = "that it compiles is the test")]
struct Stored<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>> {
    pool: ClassifiedWorkerPoolRef<C, W, F>,
    guard: Option<ClassifiedWorkerGuard<C, W, F>>,
}

#[test]
fn codes_are_compared_copied_and_failed_by_default() {
    let code = PoolErrorCode::default();
    let copy = code;
    assert_eq!((code, format!("{copy:?}").as_str()), (PoolErrorCode::Failed, "Failed"));
    let all = [
        PoolErrorCode::Failed,
        PoolErrorCode::Clearing,
        PoolErrorCode::Cleared,
        PoolErrorCode::InvalidConfig,
    ];
    assert!(all[1..].iter().all(|other| *other != code));
}

#[test]
fn pool_err_has_four_forms() {
    let (code, number) = (PoolErrorCode::Failed, 7);
    let literal: PoolError = pool_err!("plain");
    let formatted: PoolError = pool_err!("number {}", number);
    let coded: PoolError = pool_err!(PoolErrorCode::Cleared);
    let complete: PoolError = pool_err!(PoolErrorCode::Cleared, "number {}", number);

    assert_eq!((literal.code(), literal.msg()), (code, "plain"));
    assert_eq!((formatted.code(), formatted.msg()), (code, "number 7"));
    assert_eq!((coded.code(), coded.msg()), (PoolErrorCode::Cleared, ""));
    assert_eq!((complete.code(), complete.msg()), (PoolErrorCode::Cleared, "number 7"));
}

#[test]
fn into_pool_err_has_four_forms_and_keeps_the_source() {
    fn failed() -> Result<(), std::num::ParseIntError> {
        "x".parse::<u32>().map(drop)
    }
    let number = 7;
    let results: [PoolResult<()>; 4] = [
        failed().map_err(into_pool_err!("plain")),
        failed().map_err(into_pool_err!("number {}", number)),
        failed().map_err(into_pool_err!(PoolErrorCode::Cleared)),
        failed().map_err(into_pool_err!(PoolErrorCode::Cleared, "number {}", number)),
    ];
    let messages = ["plain", "number 7", "", "number 7"];
    let codes = [PoolErrorCode::Failed, PoolErrorCode::Cleared];
    for (index, result) in results.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.msg()), (codes[index / 2], messages[index]));
        let source = std::error::Error::source(&error).expect("the cause");
        assert!(source.is::<std::num::ParseIntError>());
    }
}

/// The beginning of a message is what 0.4.1 said; what to do about it may follow.
#[tokio::test]
async fn messages_begin_as_those_of_0_4_1() {
    let general = WorkerPool::<W, F>::new(0, F);
    expect(general.get_worker().await, "pool max_count is zero");
    let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(0));
    let keyed = KeyedWorkerPool::<u32, W, F>::new(F, config);
    expect(keyed.get_worker(1).await, "pool max_count_per_key is zero");
    for (max_count, per_class, message) in [
        (Some(0), None, "pool max_count is zero"),
        (None, Some(0), "pool max_count_per_classification is zero"),
    ] {
        let config = ClassifiedWorkerPoolConfig {
            max_count,
            idle_timeout: None,
            max_count_per_classification: per_class,
        };
        let classified = ClassifiedWorkerPool::<u32, W, F>::new(F, config);
        expect(classified.get_worker().await, message);
        expect(classified.get_classified_worker(1).await, message);
    }
}

#[track_caller]
fn expect<G>(result: PoolResult<G>, message: &str) {
    let error = result.err().expect("a refusal");
    assert_eq!(error.code(), PoolErrorCode::InvalidConfig);
    assert!(error.msg().starts_with(message), "{}", error.msg());
}

#[test]
fn factories_and_workers_can_be_objects() {
    let _: Box<dyn Worker> = Box::new(W(0));
    let _: Box<dyn WorkerFactory<W>> = Box::new(F);
    let _: Box<dyn KeyedWorker<u32>> = Box::new(W(0));
    let _: Box<dyn KeyedWorkerFactory<u32, W>> = Box::new(F);
    let _: Box<dyn ClassifiedWorker<u32>> = Box::new(W(0));
    let _: Box<dyn ClassifiedWorkerFactory<u32, W>> = Box::new(F);
}
