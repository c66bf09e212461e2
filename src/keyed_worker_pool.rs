use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::num::NonZero;
use std::panic::Location;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::operations::impl_operations;
use crate::scheduler::Sharing;
use crate::shell::{Begun, Filed, Fragile, Handle, Loan, Trade, file, finished, made};
use crate::{PoolOptions, PoolResult, PoolStatus};

/// What can be the key of a [`KeyedWorkerPool`]: every type that can be cloned, hashed and compared.
///
/// `Hash` is asked once for each call, and `Clone` when a worker has to wait or to be created; both
/// outside the pool's lock. `Eq` is asked under the lock, where keys are looked up: it must be quick
/// and must not call the pool. If it panics, the panic reaches the caller and nothing has changed.
///
/// Prefer a type without a lifetime, such as an enum, a `String` or an `Arc<str>`: with `&'static str`
/// the compiler does not see that a spawned future which holds the pool or a guard is `Send` (it
/// says that an implementation of `KeyedWorker` is not general enough).
///
/// # Example
///
/// ```
/// /// A key of two parts, which is cheap to clone.
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Database {
///     host: std::sync::Arc<str>,
///     number: u8,
/// }
///
/// fn is_key<K: sfo_pool::WorkerKey>(_: K) {}
///
/// is_key(Database { host: "east".into(), number: 1 });
/// is_key("east".to_owned());
/// ```
pub trait WorkerKey: Send + 'static + Clone + Hash + Eq + PartialEq {}

impl<T: Send + 'static + Clone + Hash + Eq + PartialEq> WorkerKey for T {}

/// A worker that belongs to a key: a tenant, a host, a database.
///
/// None of its methods is called under the pool's lock.
///
/// # Example
///
/// ```
/// use sfo_pool::KeyedWorker;
///
/// struct Connection {
///     host: String,
///     is_closed: bool,
/// }
///
/// impl KeyedWorker<String> for Connection {
///     fn is_work(&self) -> bool {
///         !self.is_closed
///     }
///
///     fn supports(&self, host: String) -> bool {
///         self.host == host
///     }
///
///     fn primary_key(&self) -> String {
///         self.host.clone()
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait KeyedWorker<K: WorkerKey>: Send + 'static {
    /// Whether the worker can be used; see [`Worker::is_work`](crate::Worker::is_work).
    fn is_work(&self) -> bool;
    /// Whether the worker serves `key`. Asked of its own primary key alone, when it is created, returned
    /// or about to be reused: a worker that denies it is destroyed.
    ///
    /// A worker is never reused for another key, whatever it answers.
    fn supports(&self, key: K) -> bool;
    /// The key to which the worker belongs. It is remembered when the worker is created; a worker that
    /// names another one later is destroyed when it is returned or about to be reused.
    fn primary_key(&self) -> K;
}

/// Makes the workers of a [`KeyedWorkerPool`].
///
/// # Example
///
/// ```
/// use async_trait::async_trait;
/// use sfo_pool::{KeyedWorker, KeyedWorkerFactory, PoolResult, into_pool_err};
/// use tokio::net::TcpStream;
///
/// struct Connection {
///     host: String,
///     stream: TcpStream,
/// }
///
/// # impl KeyedWorker<String> for Connection {
/// #     fn is_work(&self) -> bool { true }
/// #     fn supports(&self, host: String) -> bool { self.host == host }
/// #     fn primary_key(&self) -> String { self.host.clone() }
/// # }
/// #
/// struct Hosts {
///     port: u16,
/// }
///
/// #[async_trait]
/// impl KeyedWorkerFactory<String, Connection> for Hosts {
///     async fn create(&self, host: String) -> PoolResult<Connection> {
///         let stream = TcpStream::connect((&*host, self.port))
///             .await
///             .map_err(into_pool_err!("connect to {host}"))?;
///         Ok(Connection { host, stream })
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait KeyedWorkerFactory<K: WorkerKey, W: KeyedWorker<K>>: Send + Sync + 'static {
    /// Makes a worker whose [`primary_key`](KeyedWorker::primary_key) is `key` and that supports it.
    ///
    /// Runs in the task of the caller who got the slot, outside every lock. If that caller is cancelled,
    /// this future is dropped with it. With
    /// [`with_detached_creation`](crate::PoolOptions::with_detached_creation) it has a task of its own; for
    /// a minimum of idle workers it runs in the task of
    /// [`with_maintenance`](crate::PoolOptions::with_maintenance).
    ///
    /// # Errors
    ///
    /// An error reaches the caller that this worker was made for as it is, and nobody else: the slot goes
    /// to the next one in the line, which makes a try of its own. A panic does the same. A worker of
    /// another key, or one that denies it, is destroyed, and its caller gets
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    async fn create(&self, key: K) -> PoolResult<W>;

    /// Resets and verifies a worker before its next use: rolls back what was left open, asks the other
    /// side for a sign of life.
    ///
    /// Called only with the option [`with_recycle_after`](crate::PoolOptions::with_recycle_after), of a
    /// worker that has said that it works, in the task of the request that wants it, outside every lock.
    /// Default: nothing.
    ///
    /// # Errors
    ///
    /// After an error, or if the call takes too long, the worker is destroyed, and the request goes on with
    /// the next. The error is the source of the request's own, if that times out. A panic goes on in the
    /// request; then, and if the request is dropped meanwhile, the worker is destroyed as well.
    async fn recycle(&self, worker: &mut W) -> PoolResult<()> {
        _ = worker;
        Ok(())
    }

    /// Ends a worker in its own time: says goodbye to the other side, flushes, waits for a child.
    ///
    /// Called only with the options [`with_destroy_timeout`](crate::PoolOptions::with_destroy_timeout) and
    /// [`with_maintenance`](crate::PoolOptions::with_maintenance), of every worker that the pool gives up,
    /// in the task of the pool's own. Default: drops it. A panic harms nobody else.
    async fn destroy(&self, worker: W) {
        drop(worker);
    }

    /// What a key is called, for people: in the events of an observer, and in `outstanding()`.
    ///
    /// Called only where one of the options [`with_observer`](crate::PoolOptions::with_observer) and
    /// [`with_outstanding`](crate::PoolOptions::with_outstanding) is set, for each new worker and for a
    /// request that waits or ends without one, outside every lock. Default: `None`. A panic counts as
    /// `None`.
    fn label(&self, key: &K) -> Option<String> {
        _ = key;
        None
    }
}

/// The limits of a [`KeyedWorkerPool`], for each key apart. The default has none.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sfo_pool::KeyedWorkerPoolConfig;
///
/// let config = KeyedWorkerPoolConfig::default()
///     .with_max_count_per_key(Some(4))
///     .with_max_idle_count_per_key(Some(2))
///     .with_idle_timeout(Some(Duration::from_secs(60)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct KeyedWorkerPoolConfig {
    max_count_per_key: Option<u16>,
    max_idle_count_per_key: Option<u16>,
    idle_timeout: Option<Duration>,
}

impl KeyedWorkerPoolConfig {
    /// How long a returned worker may be idle; one that has been for at least this long has expired.
    ///
    /// Default: `None`, never, for the pool can't know how long the other side keeps a session. An
    /// expired worker is never handed out; it is destroyed by the next request that looks into its
    /// key's bucket, or by [`cleanup_idle_worker`](KeyedWorkerPool::cleanup_idle_worker): call that now and
    /// then, for some keys may never be asked for again. `Duration::MAX` never comes, `Duration::ZERO` at
    /// once. The clock is tokio's, so paused time works; a request that is served at once reads
    /// it only if this is set.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// How many workers each key may have at a time: idle, borrowed, being created or being destroyed.
    ///
    /// Default: `None`, no limit, for only you know what the other side bears. With `Some(0)` no worker
    /// could ever exist, so every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_count_per_key(mut self, max_count: Option<u16>) -> Self {
        self.max_count_per_key = max_count;
        self
    }

    /// How many workers of each key may be idle at a time. When one more is returned, the least recently
    /// used of the key goes.
    ///
    /// Default: `None`, no limit apart from that on all workers of the key, for a pool is there to keep
    /// what was costly to make. `Some(0)` keeps none: each worker is destroyed when it is returned, unless
    /// somebody waits for it.
    #[must_use]
    pub fn with_max_idle_count_per_key(mut self, max_idle_count: Option<u16>) -> Self {
        self.max_idle_count_per_key = max_idle_count;
        self
    }
}

/// A borrowed worker, which it derefs to. Dropping it gives the worker back to the bucket of its key.
///
/// For the rest see [`WorkerGuard`](crate::WorkerGuard).
///
/// # Example
///
/// ```
/// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
/// # struct Connection(String);
/// # impl KeyedWorker<String> for Connection {
/// #     fn is_work(&self) -> bool { true }
/// #     fn supports(&self, host: String) -> bool { self.0 == host }
/// #     fn primary_key(&self) -> String { self.0.clone() }
/// # }
/// # struct Hosts;
/// # #[async_trait::async_trait]
/// # impl KeyedWorkerFactory<String, Connection> for Hosts {
/// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// fn greeting(connection: &KeyedWorkerGuard<String, Connection, Hosts>) -> String {
///     format!("hello, {}", connection.0)
/// }
///
/// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
/// {
///     let connection = pool.get_worker("east".to_owned()).await?;
///     assert_eq!(greeting(&connection), "hello, east");
/// } // here it goes back
/// # Ok(())
/// # }
/// ```
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct KeyedWorkerGuard<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> {
    loan: Loan<Keyed<K, W, F>>,
}

/// How the examples that all pools share begin here.
macro_rules! setup {
    () => {
        "\
# use sfo_pool::{
#     KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult,
# };
# struct Connection(u32);
# impl KeyedWorker<u32> for Connection {
#     fn is_work(&self) -> bool { true }
#     fn supports(&self, host: u32) -> bool { self.0 == host }
#     fn primary_key(&self) -> u32 { self.0 }
# }
# struct Hosts;
# #[async_trait::async_trait]
# impl KeyedWorkerFactory<u32, Connection> for Hosts {
#     async fn create(&self, host: u32) -> PoolResult<Connection> { Ok(Connection(host)) }
# }
# #[tokio::main(flavor = \"current_thread\")]
# async fn main() -> PoolResult<()> {
let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());"
    };
}

impl_guard!(
    [K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>]
    KeyedWorkerGuard<K, W, F>, "KeyedWorkerGuard", W,
    setup!(),
    "pool.get_worker(1)"
);

/// A pool with a bucket for each key, and limits for each.
///
/// Each key has its own idle workers, its own line and its own limits; nothing that happens under one
/// key delays or wakes a request for another. Inside a bucket it is a [`WorkerPool`](crate::WorkerPool):
/// first come, first served, and the most recently returned worker first.
///
/// A bucket exists as long as it has a worker, a creation or a waiter: keys that were used once leave
/// nothing behind.
///
/// # Example
///
/// ```
/// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
/// # struct Connection(String);
/// # impl KeyedWorker<String> for Connection {
/// #     fn is_work(&self) -> bool { true }
/// #     fn supports(&self, host: String) -> bool { self.0 == host }
/// #     fn primary_key(&self) -> String { self.0.clone() }
/// # }
/// # struct Hosts;
/// # #[async_trait::async_trait]
/// # impl KeyedWorkerFactory<String, Connection> for Hosts {
/// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(4));
/// let pool = KeyedWorkerPool::new(Hosts, config);
///
/// let east = pool.get_worker("east".to_owned()).await?;
/// let west = pool.get_worker("west".to_owned()).await?;
/// assert_eq!((&*east.0, &*west.0), ("east", "west"));
/// # Ok(())
/// # }
/// ```
pub struct KeyedWorkerPool<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> {
    handle: Handle<Keyed<K, W, F>>,
}

/// A shared [`KeyedWorkerPool`], as its constructors return it: clone it into your tasks.
///
/// # Example
///
/// ```
/// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef, PoolResult};
/// # struct Connection(String);
/// # impl KeyedWorker<String> for Connection {
/// #     fn is_work(&self) -> bool { true }
/// #     fn supports(&self, host: String) -> bool { self.0 == host }
/// #     fn primary_key(&self) -> String { self.0.clone() }
/// # }
/// # struct Hosts;
/// # #[async_trait::async_trait]
/// # impl KeyedWorkerFactory<String, Connection> for Hosts {
/// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// struct Service {
///     connections: KeyedWorkerPoolRef<String, Connection, Hosts>,
/// }
///
/// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
/// let service = Service { connections: pool };
/// let connections = service.connections.clone();
/// tokio::spawn(async move {
///     let connection = connections.get_worker("east".to_owned()).await?;
///     // … use it …
///     PoolResult::Ok(())
/// })
/// .await
/// .expect("the task does not panic")?;
/// # Ok(())
/// # }
/// ```
pub type KeyedWorkerPoolRef<K, W, F> = Arc<KeyedWorkerPool<K, W, F>>;

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> KeyedWorkerPool<K, W, F> {
    /// A pool with the limits of `config`. Nothing is created or reserved yet.
    ///
    /// A limit of 0 is reported by [`get_worker`](Self::get_worker).
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
    /// # struct Connection(String);
    /// # impl KeyedWorker<String> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: String) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> String { self.0.clone() }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<String, Connection> for Hosts {
    /// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(4));
    /// let pool = KeyedWorkerPool::new(Hosts, config);
    /// ```
    pub fn new(factory: F, config: KeyedWorkerPoolConfig) -> KeyedWorkerPoolRef<K, W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// The same with [`PoolOptions`]: everything that is not a limit of 0.4.1 is set there.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolOptions, PoolResult};
    /// # struct Connection(String);
    /// # impl KeyedWorker<String> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: String) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> String { self.0.clone() }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<String, Connection> for Hosts {
    /// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// // Up to 100 connections for each key, but only 4 handshakes at a time.
    /// let pool = KeyedWorkerPool::new_with_options(
    ///     Hosts,
    ///     KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(100)),
    ///     PoolOptions::default().with_max_concurrent_creation_count(Some(4)),
    /// );
    /// ```
    pub fn new_with_options(
        factory: F,
        config: KeyedWorkerPoolConfig,
        options: PoolOptions,
    ) -> KeyedWorkerPoolRef<K, W, F> {
        let limits = Limits::new(Sharing::Apart)
            .with_bucket_limit(
                config.max_count_per_key,
                "pool max_count_per_key is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_limit(config.max_idle_count_per_key)
            .with_idle_timeout(config.idle_timeout)
            .with_options(options, None);
        let trade = Keyed { factory: Arc::new(factory), worker: PhantomData };
        Arc::new(Self { handle: Handle::in_parts(parts(), trade, limits) })
    }

    /// Gets a worker of the bucket of `key`: the most recently returned idle one, or a new one, or the
    /// next that is returned.
    ///
    /// # Errors
    ///
    /// As for [`WorkerPool::get_worker`](crate::WorkerPool::get_worker), and
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig) as well if the factory's worker has another
    /// primary key than `key`, or does not support it. That worker is destroyed.
    ///
    /// It waits for ever, unless [`with_acquire_timeout`](PoolOptions::with_acquire_timeout) says how long,
    /// or [`get_worker_timeout`](Self::get_worker_timeout). A task that holds a guard and waits for a second one
    /// can wait for ever, if all the others do the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future, at any point, leaves the pool as if there had been no call.
    ///
    /// A future that is [forgotten](std::mem::forget) while it waits keeps what it is given until a clear.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
    /// # struct Connection(String);
    /// # impl KeyedWorker<String> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: String) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> String { self.0.clone() }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<String, Connection> for Hosts {
    /// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// let connection = pool.get_worker("east".to_owned()).await?;
    /// assert_eq!(connection.0, "east");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker(
        self: &KeyedWorkerPoolRef<K, W, F>,
        key: K,
    ) -> impl Future<Output = PoolResult<KeyedWorkerGuard<K, W, F>>> {
        let place = Location::caller();
        async move {
            let (part, request) = self.handle.request_of(key);
            let mut pursuit = match part.begin(request, place) {
                Begun::Served(loan) => return Ok(KeyedWorkerGuard { loan }),
                Begun::Pursues(pursuit) => pursuit,
            };
            pursuit.finish(None).await.map(|loan| KeyedWorkerGuard { loan })
        }
    }

    /// The same within `timeout`, from the first poll on, whatever
    /// [`with_acquire_timeout`](crate::PoolOptions::with_acquire_timeout) says.
    ///
    /// # Errors
    ///
    /// As for [`get_worker`](Self::get_worker).
    ///
    /// # Cancel safety
    ///
    /// As for [`get_worker`](Self::get_worker).
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult,
    /// # };
    /// # struct Connection(u32);
    /// # impl KeyedWorker<u32> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: u32) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> u32 { self.0 }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<u32, Connection> for Hosts {
    /// #     async fn create(&self, host: u32) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// use std::time::Duration;
    ///
    /// let worker = pool.get_worker_timeout(1, Duration::from_secs(1)).await?;
    /// # drop(worker);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker_timeout(
        self: &KeyedWorkerPoolRef<K, W, F>,
        key: K,
        timeout: Duration,
    ) -> impl Future<Output = PoolResult<KeyedWorkerGuard<K, W, F>>> {
        let place = Location::caller();
        async move {
            let (part, request) = self.handle.request_of(key);
            part.get_within(request, timeout, place).await.map(|loan| KeyedWorkerGuard { loan })
        }
    }

    /// Gets an idle worker that can be handed out now, or none: it never waits, creates or recycles,
    /// never passes anybody who waits, and needs no runtime.
    ///
    /// # Errors
    ///
    /// - [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig): a setting makes no sense.
    /// - [`Closed`](crate::PoolErrorCode::Closed), [`Clearing`](crate::PoolErrorCode::Clearing): the pool is
    ///   closed, or is being cleared.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult,
    /// # };
    /// # struct Connection(u32);
    /// # impl KeyedWorker<u32> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: u32) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> u32 { self.0 }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<u32, Connection> for Hosts {
    /// #     async fn create(&self, host: u32) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// assert!(pool.try_get_worker(1)?.is_none());
    /// drop(pool.get_worker(1).await?);
    /// assert!(pool.try_get_worker(1)?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_get_worker(
        self: &KeyedWorkerPoolRef<K, W, F>,
        key: K,
    ) -> PoolResult<Option<KeyedWorkerGuard<K, W, F>>> {
        let (part, request) = self.handle.request_of(key);
        let loan = part.try_get(request, Location::caller())?;
        Ok(loan.map(|loan| KeyedWorkerGuard { loan }))
    }

    /// Creates workers that nobody has asked for yet, one after the other, until there are `count` in
    /// all of this key, and returns how many it created. It never exceeds a limit, and stops early where
    /// there is no room or somebody waits.
    ///
    /// # Errors
    ///
    /// The first error of the factory's ends it; what was created by then stays. Besides
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig),
    /// [`Closed`](crate::PoolErrorCode::Closed), [`Clearing`](crate::PoolErrorCode::Clearing) and
    /// [`Cleared`](crate::PoolErrorCode::Cleared), as for a request.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the creation under way is dropped with it; the workers that were created
    /// before stay.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult,
    /// # };
    /// # struct Connection(u32);
    /// # impl KeyedWorker<u32> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: u32) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> u32 { self.0 }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<u32, Connection> for Hosts {
    /// #     async fn create(&self, host: u32) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// assert_eq!(pool.prewarm(1, 2).await?, 2);
    /// assert_eq!(pool.status().idle, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prewarm(&self, key: K, count: usize) -> PoolResult<usize> {
        self.handle.prewarm(Some(key), count).await
    }

    /// Destroys the idle workers of all keys that have expired, and returns how many there were.
    ///
    /// Expired workers are never handed out, but without a request for their key they stay until
    /// somebody calls this, or for the task of [`with_maintenance`](PoolOptions::with_maintenance).
    /// Without an idle timeout and a maximum lifetime it returns 0.
    ///
    /// # Panics
    ///
    /// If a worker's destructor panics, the others are destroyed first, and then the panic goes on.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
    /// # struct Connection(String);
    /// # impl KeyedWorker<String> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: String) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> String { self.0.clone() }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<String, Connection> for Hosts {
    /// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let config = KeyedWorkerPoolConfig::default().with_idle_timeout(Some(Duration::ZERO));
    /// let pool = KeyedWorkerPool::new(Hosts, config);
    /// drop(pool.get_worker("east".to_owned()).await?);
    /// drop(pool.get_worker("west".to_owned()).await?);
    /// assert_eq!(pool.cleanup_idle_worker(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cleanup_idle_worker(&self) -> usize {
        self.handle.cleanup_idle()
    }

    /// What there is under this key at this moment.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult,
    /// # };
    /// # struct Connection(u32);
    /// # impl KeyedWorker<u32> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: u32) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> u32 { self.0 }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<u32, Connection> for Hosts {
    /// #     async fn create(&self, host: u32) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// let worker = pool.get_worker(1).await?;
    /// assert_eq!((pool.status_of(1).total, pool.status_of(2).total), (1, 0));
    /// # drop(worker);
    /// # Ok(())
    /// # }
    /// ```
    pub fn status_of(&self, key: K) -> PoolStatus {
        self.handle.status_of(key)
    }

    /// Destroys every worker of every key from before this call, and returns when the last of them is
    /// gone.
    ///
    /// - Idle workers go at once.
    /// - Requests that wait get [`Cleared`](crate::PoolErrorCode::Cleared), and so does one whose
    ///   creation is under way, when it has come to its end and the new worker was destroyed. If it
    ///   fails, its caller gets the factory's error.
    /// - Borrowed workers are destroyed as they come back.
    /// - Until then new requests get [`Clearing`](crate::PoolErrorCode::Clearing).
    ///
    /// When the last destructor has returned, the pool is open again. Several clears at a time all end
    /// together.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it has ended, and no other clear is under way, the pool opens
    /// again at once. Workers from before the call are still destroyed as they come back, and are never
    /// handed out again; until then they count.
    ///
    /// # Deadlock
    ///
    /// The call waits for every guard that is out. Whoever awaits it while holding a guard, or has lost
    /// one to [`mem::forget`](std::mem::forget), waits for ever: put a timeout around the call where that
    /// can happen.
    ///
    /// # Panics
    ///
    /// If the destructor of an idle worker panics, the others are destroyed first and then the panic
    /// goes on to the caller, which ends the clear as if it had been dropped.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{KeyedWorker, KeyedWorkerFactory, KeyedWorkerPool, KeyedWorkerPoolConfig, PoolResult};
    /// # struct Connection(String);
    /// # impl KeyedWorker<String> for Connection {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn supports(&self, host: String) -> bool { self.0 == host }
    /// #     fn primary_key(&self) -> String { self.0.clone() }
    /// # }
    /// # struct Hosts;
    /// # #[async_trait::async_trait]
    /// # impl KeyedWorkerFactory<String, Connection> for Hosts {
    /// #     async fn create(&self, host: String) -> PoolResult<Connection> { Ok(Connection(host)) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = KeyedWorkerPool::new(Hosts, KeyedWorkerPoolConfig::default());
    /// drop(pool.get_worker("east".to_owned()).await?);
    /// pool.clear_all_worker().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn clear_all_worker(&self) {
        self.handle.clear().await;
    }
}

impl_operations!(
    [K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>]
    KeyedWorkerPool<K, W, F>, W,
    setup!(),
    "pool.get_worker(1)"
);

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> fmt::Debug
    for KeyedWorkerPool<K, W, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedWorkerPool").field("state", &self.handle).finish_non_exhaustive()
    }
}

/// Workers that belong to a key.
struct Keyed<K, W, F> {
    factory: Arc<F>,
    worker: PhantomData<fn() -> (K, W)>,
}

/// A few for each thread that can run at a time, so that two seldom meet; some for a model checker.
fn parts() -> usize {
    if cfg!(loom) {
        return 2;
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    (4 * threads).min(64)
}

impl<K, W, F> Clone for Keyed<K, W, F> {
    fn clone(&self) -> Self {
        Self { factory: Arc::clone(&self.factory), worker: PhantomData }
    }
}

impl<K: WorkerKey, W: KeyedWorker<K>, F: KeyedWorkerFactory<K, W>> Trade for Keyed<K, W, F> {
    type Key = K;
    type Worker = W;

    async fn create(&self, key: Option<K>) -> PoolResult<Filed<K, W>> {
        let key = Fragile::new(key.expect("a request to a keyed pool names a key"));
        let worker = made(self.factory.create(K::clone(&key))).await?;
        let primary = worker.primary_key();
        file(
            worker,
            primary,
            Some(key),
            W::supports,
            "factory returned worker with mismatched key: \
             primary_key() of the new worker must equal the key that create() was given",
            "worker primary key is not valid for itself: \
             supports() of the new worker denies its own primary_key()",
        )
    }

    async fn recycle(&self, unit: &mut Filed<K, W>) -> PoolResult<()> {
        finished(self.factory.recycle(&mut unit.worker)).await
    }

    async fn destroy(&self, unit: Filed<K, W>) {
        let Filed { worker, key } = unit;
        let key = Fragile::new(key);
        finished(self.factory.destroy(worker)).await;
        drop(key);
    }

    fn label(&self, key: &K) -> Option<String> {
        self.factory.label(key)
    }

    fn is_well(unit: &Filed<K, W>) -> bool {
        let Filed { worker, key } = unit;
        if !worker.is_work() {
            return false;
        }
        let primary = Fragile::new(worker.primary_key());
        *primary == *key && worker.supports(primary.into_inner())
    }

    /// A key is served from its own bucket alone.
    fn serves(_: &Filed<K, W>, _: &K) -> bool {
        false
    }
}
