use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::operations::impl_operations;
use crate::scheduler::Sharing;
use crate::shell::{Begun, Filed, Handle, Loan, Request, Trade, finished, made};
use crate::{PoolOptions, PoolResult};

/// Something scarce that a pool lends out: a connection, a session, a child process.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// struct Connection {
///     is_closed: AtomicBool,
/// }
///
/// impl sfo_pool::Worker for Connection {
///     fn is_work(&self) -> bool {
///         !self.is_closed.load(Ordering::Relaxed)
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait Worker: Send + 'static {
    /// Whether the worker can be used.
    ///
    /// Asked when an idle worker is about to be reused and when a guard is dropped, but not of a new
    /// worker. One that says `false` is destroyed, and its slot is free for another. The call should be
    /// quick, for it happens in the task that gets or drops the guard; no lock of the pool's is held, so
    /// the pool does not mind if it blocks (your runtime may) or calls the pool.
    ///
    /// A caller that is cancelled, or that fails half-way, still gives its worker back: let the worker
    /// note that it is busy, and say `false` then.
    ///
    /// A panic here in a guard's drop counts as `false` and ends there; in a `get` it reaches the caller
    /// of that `get`, and the worker is destroyed.
    fn is_work(&self) -> bool;
}

/// Makes the workers of a [`WorkerPool`].
///
/// # Example
///
/// ```
/// use std::io::ErrorKind;
///
/// use async_trait::async_trait;
/// use sfo_pool::{PoolErrorCode, PoolResult, Worker, WorkerFactory, into_pool_err};
/// use tokio::net::TcpStream;
///
/// struct Connection(TcpStream);
///
/// impl Worker for Connection {
///     /// Whether it is open, and nothing has come that nobody asked for.
///     fn is_work(&self) -> bool {
///         let read = self.0.try_read(&mut [0]);
///         read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
///     }
/// }
///
/// struct Server {
///     address: String,
/// }
///
/// #[async_trait]
/// impl WorkerFactory<Connection> for Server {
///     async fn create(&self) -> PoolResult<Connection> {
///         let stream = TcpStream::connect(&self.address)
///             .await
///             .map_err(into_pool_err!(PoolErrorCode::Failed, "connect to {}", self.address))?;
///         Ok(Connection(stream))
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait WorkerFactory<W: Worker>: Send + Sync + 'static {
    /// Makes a worker.
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
    /// to the next one in the line, which makes a try of its own. A panic does the same.
    async fn create(&self) -> PoolResult<W>;

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
}

/// The limits of a [`WorkerPool`]. The default has none.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sfo_pool::WorkerPoolConfig;
///
/// let config = WorkerPoolConfig::default()
///     .with_max_count(Some(8))
///     .with_max_idle_count(Some(4))
///     .with_idle_timeout(Some(Duration::from_secs(60)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct WorkerPoolConfig {
    max_count: Option<u16>,
    max_idle_count: Option<u16>,
    idle_timeout: Option<Duration>,
}

impl WorkerPoolConfig {
    /// How many workers there may be at a time: idle, borrowed, being created or being destroyed.
    ///
    /// Default: `None`, no limit, for only you know what the other side bears. With `Some(0)` no worker
    /// could ever exist, so every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_count(mut self, max_count: Option<u16>) -> Self {
        self.max_count = max_count;
        self
    }

    /// How many workers may be idle at a time. When one more is returned, the least recently used goes.
    ///
    /// Default: `None`, no limit apart from that on all workers, for a pool is there to keep what was
    /// costly to make. `Some(0)` keeps none: each worker is destroyed when it is returned, unless somebody
    /// waits for it.
    #[must_use]
    pub fn with_max_idle_count(mut self, max_idle_count: Option<u16>) -> Self {
        self.max_idle_count = max_idle_count;
        self
    }

    /// How long a returned worker may be idle; one that has been for at least this long has expired.
    ///
    /// Default: `None`, never, for the pool can't know how long the other side keeps a session. An
    /// expired worker is never handed out; it is destroyed by the next request that looks into its
    /// pool, or by [`cleanup_idle_worker`](WorkerPool::cleanup_idle_worker). `Duration::MAX` never comes,
    /// `Duration::ZERO` at once. The clock is tokio's, so paused time works; a request that is
    /// served at once reads it only if this is set.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }
}

/// A borrowed worker, which it derefs to. Dropping it gives the worker back.
///
/// The drop never waits for anything of the pool's, spawns nothing and needs no runtime; it may happen
/// on any thread, and after the pool is gone. It asks the worker [`is_work`](Worker::is_work); a worker
/// that is well goes to whoever has waited longest, or becomes idle.
///
/// A guard that is dropped while its thread unwinds from a panic destroys its worker, which may be
/// half-used, unless [`with_keep_on_panic`](PoolOptions::with_keep_on_panic) says otherwise.
///
/// # Example
///
/// ```
/// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let pool = WorkerPool::new(1, Server);
/// {
///     let connection = pool.get_worker().await?;
///     // … use it …
/// } // here it goes back
/// # Ok(())
/// # }
/// ```
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct WorkerGuard<W: Worker, F: WorkerFactory<W>> {
    loan: Loan<Plain<W, F>>,
}

/// How the examples that all pools share begin here.
macro_rules! setup {
    () => {
        "\
# use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
# struct Connection;
# impl Worker for Connection { fn is_work(&self) -> bool { true } }
# struct Server;
# #[async_trait::async_trait]
# impl WorkerFactory<Connection> for Server {
#     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
# }
# #[tokio::main(flavor = \"current_thread\")]
# async fn main() -> PoolResult<()> {
let pool = WorkerPool::new(8, Server);"
    };
}

impl_guard!(
    [W: Worker, F: WorkerFactory<W>]
    WorkerGuard<W, F>, "WorkerGuard", W,
    setup!(),
    "pool.get_worker()"
);

/// A pool in which any worker serves any caller.
///
/// Requests are served in the order of their first poll: an idle worker first, the most recently
/// returned of them; else a new one, if there is room; else whatever somebody returns or frees.
///
/// Dropping the pool drops the idle workers; those that are out are destroyed as they come back.
///
/// # Example
///
/// ```
/// use async_trait::async_trait;
/// use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
///
/// struct Session {
///     greeting: String,
/// }
///
/// impl Worker for Session {
///     fn is_work(&self) -> bool {
///         true
///     }
/// }
///
/// struct Sessions;
///
/// #[async_trait]
/// impl WorkerFactory<Session> for Sessions {
///     async fn create(&self) -> PoolResult<Session> {
///         Ok(Session { greeting: "hello".to_owned() })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let pool = WorkerPool::new(8, Sessions);
/// let session = pool.get_worker().await?;
/// assert_eq!(session.greeting, "hello");
/// # Ok(())
/// # }
/// ```
pub struct WorkerPool<W: Worker, F: WorkerFactory<W>> {
    handle: Handle<Plain<W, F>>,
}

/// A shared [`WorkerPool`], as its constructors return it: clone it into your tasks.
///
/// # Example
///
/// ```
/// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolRef};
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// struct Service {
///     connections: WorkerPoolRef<Connection, Server>,
/// }
///
/// let service = Service { connections: WorkerPool::new(8, Server) };
/// let connections = service.connections.clone();
/// tokio::spawn(async move {
///     let connection = connections.get_worker().await?;
///     // … use it …
///     PoolResult::Ok(())
/// })
/// .await
/// .expect("the task does not panic")?;
/// # Ok(())
/// # }
/// ```
pub type WorkerPoolRef<W, F> = Arc<WorkerPool<W, F>>;

impl<W: Worker, F: WorkerFactory<W>> WorkerPool<W, F> {
    /// A pool of at most `max_count` workers, without any other limit.
    ///
    /// Nothing is created or reserved yet. A `max_count` of 0 is reported by
    /// [`get_worker`](Self::get_worker), which names `None` as the way to have no limit (with
    /// [`new_with_config`](Self::new_with_config)).
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// let pool = WorkerPool::new(8, Server);
    /// ```
    pub fn new(max_count: u16, factory: F) -> WorkerPoolRef<W, F> {
        let config = WorkerPoolConfig::default().with_max_count(Some(max_count));
        Self::new_with_config(factory, config)
    }

    /// A pool with the limits of `config`.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// let config = WorkerPoolConfig::default().with_max_count(Some(8)).with_max_idle_count(Some(2));
    /// let pool = WorkerPool::new_with_config(Server, config);
    /// ```
    pub fn new_with_config(factory: F, config: WorkerPoolConfig) -> WorkerPoolRef<W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// The same with [`PoolOptions`]: everything that is not a limit of 0.4.1 is set there.
    ///
    /// # Example
    ///
    /// See [`PoolOptions`].
    pub fn new_with_options(
        factory: F,
        config: WorkerPoolConfig,
        options: PoolOptions,
    ) -> WorkerPoolRef<W, F> {
        let limits = Limits::new(Sharing::Sole)
            .with_bucket_limit(
                config.max_count,
                "pool max_count is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_limit(config.max_idle_count)
            .with_idle_timeout(config.idle_timeout)
            .with_options(options, None);
        let trade = Plain { factory, worker: PhantomData };
        Arc::new(Self { handle: Handle::new(trade, limits, Some(())) })
    }

    /// Gets a worker: the most recently returned idle one, or a new one, or the next that is returned.
    ///
    /// # Errors
    ///
    /// In this order of judgement:
    ///
    /// - [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig): a limit is zero, or an option makes no
    ///   sense here.
    /// - [`Closed`](crate::PoolErrorCode::Closed): the pool is closed, or was while this call waited or
    ///   created.
    /// - [`Clearing`](crate::PoolErrorCode::Clearing): the pool is being cleared.
    /// - [`Cleared`](crate::PoolErrorCode::Cleared): a clear began while this call waited or created.
    /// - [`Full`](crate::PoolErrorCode::Full): as many requests wait as
    ///   [`with_max_waiting_count`](PoolOptions::with_max_waiting_count) allows.
    /// - [`Timeout`](crate::PoolErrorCode::Timeout): the call took longer than an option allows.
    /// - Whatever the factory returns when it creates for this call.
    ///
    /// It waits for ever, unless [`with_acquire_timeout`](PoolOptions::with_acquire_timeout) says how long,
    /// or [`get_worker_timeout`](Self::get_worker_timeout). A task that holds a guard and waits for a second one
    /// can wait for ever, if all the others do the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future, at any point, leaves the pool as if there had been no call: its place in the
    /// line is gone, what it had been given goes to the next, and a creation under way is dropped (or
    /// goes on, with [`with_detached_creation`](PoolOptions::with_detached_creation)).
    ///
    /// A future that is [forgotten](std::mem::forget) while it waits keeps what it is given until a clear.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = WorkerPool::new(1, Server);
    /// let first = pool.get_worker().await?;
    ///
    /// // There is one worker, and it is out.
    /// let second = tokio::time::timeout(Duration::from_millis(10), pool.get_worker()).await;
    /// assert!(second.is_err());
    ///
    /// drop(first);
    /// let third = pool.get_worker().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker(
        self: &WorkerPoolRef<W, F>,
    ) -> impl Future<Output = PoolResult<WorkerGuard<W, F>>> {
        let place = Location::caller();
        async move {
            let mut pursuit = match self.handle.whole().begin(Request::Sole, place) {
                Begun::Served(loan) => return Ok(WorkerGuard { loan }),
                Begun::Pursues(pursuit) => pursuit,
            };
            pursuit.finish(None).await.map(|loan| WorkerGuard { loan })
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
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = WorkerPool::new(8, Server);
    /// use std::time::Duration;
    ///
    /// let worker = pool.get_worker_timeout(Duration::from_secs(1)).await?;
    /// # drop(worker);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker_timeout(
        self: &WorkerPoolRef<W, F>,
        timeout: Duration,
    ) -> impl Future<Output = PoolResult<WorkerGuard<W, F>>> {
        let place = Location::caller();
        async move {
            let (shell, request) = (self.handle.whole(), Request::Sole);
            shell.get_within(request, timeout, place).await.map(|loan| WorkerGuard { loan })
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
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = WorkerPool::new(8, Server);
    /// assert!(pool.try_get_worker()?.is_none());
    /// drop(pool.get_worker().await?);
    /// assert!(pool.try_get_worker()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_get_worker(self: &WorkerPoolRef<W, F>) -> PoolResult<Option<WorkerGuard<W, F>>> {
        let (shell, request) = (self.handle.whole(), Request::Sole);
        let loan = shell.try_get(request, Location::caller())?;
        Ok(loan.map(|loan| WorkerGuard { loan }))
    }

    /// Creates workers that nobody has asked for yet, one after the other, until there are `count` in
    /// all, and returns how many it created. It never exceeds a limit, and stops early where
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
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = WorkerPool::new(8, Server);
    /// assert_eq!(pool.prewarm(2).await?, 2);
    /// assert_eq!(pool.status().idle, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prewarm(&self, count: usize) -> PoolResult<usize> {
        self.handle.prewarm(None, count).await
    }

    /// Destroys the idle workers that have expired, and returns how many there were.
    ///
    /// Expired workers are never handed out, but without a request they stay until somebody calls this,
    /// or for the task of [`with_maintenance`](PoolOptions::with_maintenance).
    /// Without an idle timeout and a maximum lifetime it returns 0.
    ///
    /// # Panics
    ///
    /// If a worker's destructor panics, the others are destroyed first, and then the panic goes on.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let config = WorkerPoolConfig::default().with_idle_timeout(Some(Duration::ZERO));
    /// let pool = WorkerPool::new_with_config(Server, config);
    /// drop(pool.get_worker().await?);
    /// assert_eq!(pool.cleanup_idle_worker(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cleanup_idle_worker(&self) -> usize {
        self.handle.cleanup_idle()
    }

    /// Destroys every worker from before this call, and returns when the last of them is gone.
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
    /// # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
    /// # struct Connection;
    /// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
    /// # struct Server;
    /// # #[async_trait::async_trait]
    /// # impl WorkerFactory<Connection> for Server {
    /// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = WorkerPool::new(8, Server);
    /// drop(pool.get_worker().await?);
    /// pool.clear_all_worker().await; // the server's password has changed, say
    /// let connection = pool.get_worker().await?; // a new one
    /// # Ok(())
    /// # }
    /// ```
    pub async fn clear_all_worker(&self) {
        self.handle.clear().await;
    }
}

impl_operations!(
    [W: Worker, F: WorkerFactory<W>]
    WorkerPool<W, F>, W,
    setup!(),
    "pool.get_worker()"
);

impl<W: Worker, F: WorkerFactory<W>> fmt::Debug for WorkerPool<W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool").field("state", &self.handle).finish_non_exhaustive()
    }
}

/// Workers without keys.
struct Plain<W, F> {
    factory: F,
    worker: PhantomData<fn() -> W>,
}

impl<W: Worker, F: WorkerFactory<W>> Trade for Plain<W, F> {
    type Key = ();
    type Worker = W;

    async fn create(&self, _: Option<()>) -> PoolResult<Filed<(), W>> {
        let worker = made(self.factory.create()).await?;
        Ok(Filed { worker: worker.into_inner(), key: () })
    }

    async fn recycle(&self, unit: &mut Filed<(), W>) -> PoolResult<()> {
        finished(self.factory.recycle(&mut unit.worker)).await
    }

    async fn destroy(&self, unit: Filed<(), W>) {
        finished(self.factory.destroy(unit.worker)).await;
    }

    fn label(&self, (): &()) -> Option<String> {
        None
    }

    fn is_well(unit: &Filed<(), W>) -> bool {
        unit.worker.is_work()
    }

    fn serves(_: &Filed<(), W>, (): &()) -> bool {
        true
    }
}
