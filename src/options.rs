/// How a pool behaves, the same for all three pools.
///
/// The `*Config` types hold the limits of 0.4.1 and are frozen; every newer setting is found here.
/// An option that is not called leaves the pool's default in force.
///
/// ```
/// # use sfo_pool::{PoolOptions, PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// // Up to 100 connections, but only 4 handshakes at a time.
/// let pool = WorkerPool::new_with_options(
///     Server,
///     WorkerPoolConfig::default().with_max_count(Some(100)),
///     PoolOptions::default().with_max_concurrent_creation_count(Some(4)),
/// );
/// # drop(pool);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PoolOptions {
    max_concurrent_creation_count: Option<Option<u16>>,
}

impl PoolOptions {
    /// How many calls of the factory's `create` may run at a time.
    ///
    /// It counts over the whole pool; in a [`KeyedWorkerPool`](crate::KeyedWorkerPool), whose keys
    /// have nothing to do with each other, for each key.
    ///
    /// - Not called: 20 for a [`ClassifiedWorkerPool`](crate::ClassifiedWorkerPool), where a burst
    ///   of requests for any class could otherwise create far more than it needs, for nobody knows
    ///   the class of a worker before it exists; no limit for the other two, where the limit on
    ///   workers says all.
    /// - `None`: no limit.
    /// - `Some(0)`: nothing could ever be created, so every `get` returns
    ///   [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    ///
    /// A request that only this limit stops waits in the line like any other: it takes no slot, lets
    /// no idle worker be evicted, and is served by a returned worker if one comes first.
    #[must_use]
    pub fn with_max_concurrent_creation_count(mut self, count: Option<u16>) -> Self {
        self.max_concurrent_creation_count = Some(count);
        self
    }

    pub(crate) fn max_concurrent_creation_count(&self, default: Option<u16>) -> Option<u16> {
        self.max_concurrent_creation_count.unwrap_or(default)
    }
}
