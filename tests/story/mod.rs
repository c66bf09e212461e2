//! A short life of a pool in which every event happens that an observer can be told of.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sfo_pool::{
    KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig,
    KeyedWorkerPoolRef, PoolErrorCode, PoolObserver, PoolOptions, PoolResult, into_pool_err,
};
use tokio::time::sleep;

pub struct Connection;

impl KeyedWorker<u8> for Connection {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, _: u8) -> bool {
        true
    }

    fn primary_key(&self) -> u8 {
        EAST
    }
}

pub struct Hosts;

const EAST: u8 = 1;
const DOWN: u8 = 2;

#[async_trait]
impl KeyedWorkerFactory<u8, Connection> for Hosts {
    async fn create(&self, host: u8) -> PoolResult<Connection> {
        if host == DOWN {
            let refused = Err(std::io::Error::other("connection refused"));
            return refused.map_err(into_pool_err!("cannot connect"));
        }
        sleep(Duration::from_millis(20)).await;
        Ok(Connection)
    }

    fn label(&self, host: &u8) -> Option<String> {
        Some(if *host == DOWN { "down" } else { "east" }.to_owned())
    }
}

type Pool = KeyedWorkerPoolRef<u8, Connection, Hosts>;
type Guard = KeyedWorkerGuard<u8, Connection, Hosts>;

/// Runs on a paused clock. The pool is gone at the end.
pub async fn live(name: &str, observer: Arc<dyn PoolObserver>) {
    let options = PoolOptions::default()
        .with_name(name)
        .with_observer(observer)
        .with_maintenance(true)
        .with_max_waiting_count(Some(1))
        .with_leak_threshold(Some(Duration::from_secs(10)));
    let limits = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(1));
    let pool = KeyedWorkerPool::new_with_options(Hosts, limits, options);

    assert!(pool.get_worker(DOWN).await.is_err());
    let guard = pool.get_worker(EAST).await.unwrap();
    let guard = hand_over(&pool, guard).await;
    assert!(pool.get_worker_timeout(EAST, Duration::from_secs(5)).await.is_err());
    sleep(Duration::from_secs(6)).await;
    drop(guard);

    let guard = pool.get_worker(EAST).await.unwrap();
    let task = tokio::spawn(async move {
        let _guard = guard;
        std::panic::resume_unwind(Box::new("the user's code"));
    });
    assert!(task.await.is_err());
    let guard = pool.get_worker(EAST).await.unwrap();
    KeyedWorkerGuard::discard(guard);
    pool.clear_all_worker().await;
    pool.close().await;
}

/// One waits two seconds for the worker, and another is one too many.
async fn hand_over(pool: &Pool, guard: Guard) -> Guard {
    let next = async { pool.get_worker(EAST).await.unwrap() };
    let others = async {
        let error = pool.get_worker(EAST).await.unwrap_err();
        assert_eq!(error.code(), PoolErrorCode::Full);
        sleep(Duration::from_secs(2)).await;
        drop(guard);
    };
    tokio::join!(biased; next, others).0
}
