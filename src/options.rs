use std::sync::Arc;
use std::time::Duration;

use crate::observer::Observers;
use crate::{PoolObserver, PoolRetry};

/// How a pool behaves, the same for all three pools.
///
/// The `*Config` types hold the limits of 0.4.1 and are frozen; every newer setting is found here.
/// An option that is not called leaves the pool's default in force.
///
/// ```
/// # use sfo_pool::{PoolOptions, PoolResult, Worker, WorkerFactory, WorkerPool, WorkerPoolConfig};
/// # use std::time::Duration;
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// // Up to 100 connections, but only 4 handshakes at a time; nobody waits for more than a second.
/// let pool = WorkerPool::new_with_options(
///     Server,
///     WorkerPoolConfig::default().with_max_count(Some(100)),
///     PoolOptions::default()
///         .with_max_concurrent_creation_count(Some(4))
///         .with_acquire_timeout(Some(Duration::from_secs(1))),
/// );
/// # drop(pool);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PoolOptions {
    max_concurrent_creation_count: Option<Option<u16>>,
    pub(crate) acquire_timeout: Option<Duration>,
    pub(crate) max_waiting_count: Option<usize>,
    pub(crate) creation_timeout: Option<Duration>,
    pub(crate) creation_retry: Option<PoolRetry>,
    pub(crate) detached_creation: bool,
    pub(crate) max_lifetime: Option<Duration>,
    pub(crate) max_lifetime_jitter: Option<Duration>,
    pub(crate) max_use_count: Option<u64>,
    pub(crate) recycle_after: Option<Duration>,
    pub(crate) recycle_timeout: Option<Duration>,
    pub(crate) keep_on_panic: bool,
    pub(crate) maintenance: bool,
    pub(crate) min_idle_count: u16,
    pub(crate) destroy_timeout: Option<Duration>,
    pub(crate) worker_info: bool,
    pub(crate) create_first: bool,
    pub(crate) max_overshoot_count: Option<Option<u16>>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) observers: Observers,
    pub(crate) outstanding: bool,
    pub(crate) leak_threshold: Option<Duration>,
}

/// # Waiting
impl PoolOptions {
    /// How long a request may take, from its first poll: waiting, recycling and creating together.
    ///
    /// Default: `None`, for ever, as in 0.4.1; for only you know for how long an answer is worth
    /// anything. A call such as [`get_worker_timeout`](crate::WorkerPool::get_worker_timeout) takes a
    /// time of its own instead. With `Duration::ZERO` a request is served at once or not at all.
    /// `Duration::MAX` never comes.
    ///
    /// A request that takes longer gets [`Timeout`](crate::PoolErrorCode::Timeout). It is over as soon
    /// as its time has come, even if nobody polls it: no worker is handed to it any more. The timer is
    /// tokio's, so a request that is not served at its first look needs a runtime with its time enabled.
    #[must_use]
    pub fn with_acquire_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.acquire_timeout = timeout;
        self
    }

    /// How many requests may wait, in a keyed pool for each key. One more gets
    /// [`Full`](crate::PoolErrorCode::Full) at once.
    ///
    /// Default: `None`, no limit, as in 0.4.1. Under overload a limit turns a growing line into quick
    /// errors. With `Some(0)` nobody waits: a request takes an idle worker or a free slot (in a
    /// classified pool also the slot of a worker that makes way), or gets `Full`.
    ///
    /// With [`with_detached_creation`](Self::with_detached_creation) those do not count for whom a creation
    /// goes on. Only newcomers are turned away. A request that has its place keeps it, whatever happens to the
    /// worker that it was given.
    #[must_use]
    pub fn with_max_waiting_count(mut self, count: Option<usize>) -> Self {
        self.max_waiting_count = count;
        self
    }
}

/// # Creating
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

    /// How long one call of the factory's `create` may take. Then its future is dropped, and the call
    /// has failed with [`Timeout`](crate::PoolErrorCode::Timeout).
    ///
    /// Default: `None`, for ever: your client has a timeout of its own, and knows better. It counts for
    /// each attempt apart; [`with_acquire_timeout`](Self::with_acquire_timeout) counts for all of them.
    #[must_use]
    pub fn with_creation_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.creation_timeout = timeout;
        self
    }

    /// Tries again when `create` fails with an error that is said to be transient.
    ///
    /// Default: `None`, the first error is the caller's. The request keeps its slot during the pauses,
    /// so there are never more attempts at a time than slots; nothing is tried any more once the
    /// request has timed out or was dropped.
    #[must_use]
    pub fn with_creation_retry(mut self, retry: Option<PoolRetry>) -> Self {
        self.creation_retry = retry;
        self
    }

    /// Lets each creation go on in a task of its own, while the request for which it was begun keeps its
    /// place in the line and takes whichever comes first, a worker that is returned or a new one.
    ///
    /// Default: `false`, a creation runs inside its request, and is dropped with it. With `true` a caller
    /// that gives up costs nothing: its worker is finished all the same, and is for the next, or becomes
    /// idle. There are never more creations than requests wait for. A creation that fails is its request's
    /// error, if that still waits; one that panics goes on there.
    ///
    /// The tasks are spawned on the runtime of the request; without one, a creation runs inside it. They
    /// hold the factory, but not the pool.
    #[must_use]
    pub fn with_detached_creation(mut self, detached: bool) -> Self {
        self.detached_creation = detached;
        self
    }

    pub(crate) fn max_concurrent_creation_count(&self, default: Option<u16>) -> Option<u16> {
        self.max_concurrent_creation_count.unwrap_or(default)
    }
}

/// # Health and end of life
impl PoolOptions {
    /// How long a worker may live, from its creation. One that is older is destroyed when it is
    /// returned, when a request meets it, and by `cleanup_idle_worker()`; it is never taken from
    /// whoever uses it.
    ///
    /// Default: `None`, for ever. It bounds how long a pool holds on to a server that has been replaced,
    /// and how much a leak in a session can grow. `Duration::ZERO` lets each worker be used once.
    #[must_use]
    pub fn with_max_lifetime(mut self, lifetime: Option<Duration>) -> Self {
        self.max_lifetime = lifetime;
        self
    }

    /// By how much less than [`with_max_lifetime`](Self::with_max_lifetime) a worker lives at the most:
    /// each has its own time, drawn at its birth, so that those that were created together do not end
    /// together.
    ///
    /// Default: a tenth of the lifetime. `Duration::ZERO` turns it off.
    #[must_use]
    pub fn with_max_lifetime_jitter(mut self, jitter: Duration) -> Self {
        self.max_lifetime_jitter = Some(jitter);
        self
    }

    /// How often a worker may be lent. When it comes back from its last use it is destroyed.
    ///
    /// Default: `None`, as often as it works. With `Some(0)` no worker could ever be used, so every
    /// `get` returns [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_use_count(mut self, count: Option<u64>) -> Self {
        self.max_use_count = count;
        self
    }

    /// Recycles a worker before its next use, by the factory's `recycle`, if it has been idle for at
    /// least this long. `Duration::ZERO`: before each next use, also where it goes from hand to hand.
    ///
    /// Default: `None`, never. While the call runs the worker is borrowed, and the request keeps its
    /// place. If it fails, takes longer than [`with_recycle_timeout`](Self::with_recycle_timeout), or is
    /// cancelled, the worker is destroyed; a request that is still there goes on with the next.
    ///
    /// `try_get_worker()`, which cannot wait, hands out only workers that need no recycling: with
    /// `Duration::ZERO` none.
    #[must_use]
    pub fn with_recycle_after(mut self, idle: Option<Duration>) -> Self {
        self.recycle_after = idle;
        self
    }

    /// How long one call of the factory's `recycle` may take. Default: `None`, for ever. It does
    /// nothing unless [`with_recycle_after`](Self::with_recycle_after) is set.
    #[must_use]
    pub fn with_recycle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.recycle_timeout = timeout;
        self
    }

    /// Takes a worker back that is well, even if its guard is dropped while its thread unwinds from a
    /// panic.
    ///
    /// Default: `false`: whatever was done with it may be half-done, so it is destroyed. `is_work` is
    /// asked in any case.
    #[must_use]
    pub fn with_keep_on_panic(mut self, keep: bool) -> Self {
        self.keep_on_panic = keep;
        self
    }

    /// Gives the pool a task of its own, which destroys workers that have expired or are too old without
    /// waiting for a request, and does what the options named below ask of it.
    ///
    /// Default: `false`, for a library should not spawn what nobody asked for. The task is spawned on
    /// the runtime of the first request that is not served at its first look; the pool itself can be
    /// built anywhere. If that runtime ends, the next such request starts another one. It holds the pool
    /// weakly and ends with it, has no timer while there is nothing to wait for, and a panic of your
    /// code in it harms nobody. The runtime needs its time enabled.
    #[must_use]
    pub fn with_maintenance(mut self, maintenance: bool) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Keeps at least so many workers idle, as long as there is room for them and nobody waits. They
    /// are created by the task of [`with_maintenance`](Self::with_maintenance), one after the other;
    /// after a failure it pauses, from 100 ms up to 30 s.
    ///
    /// Default: 0, workers are created when somebody asks. A classified pool creates them for any class,
    /// by `create(None)`. In a keyed pool, and without maintenance, every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig): call
    /// [`prewarm`](crate::KeyedWorkerPool::prewarm) for the keys that you need. The task starts with the
    /// pool, if that is built in a runtime.
    #[must_use]
    pub fn with_min_idle_count(mut self, count: u16) -> Self {
        self.min_idle_count = count;
        self
    }

    /// Ends workers by the factory's `destroy`, and gives each call so long.
    ///
    /// Default: `None`, a worker is dropped where it is given up. The calls run in the task of
    /// [`with_maintenance`](Self::with_maintenance); where that does not run, workers are dropped. A
    /// worker keeps its slot until the call has ended; at the bound its future is dropped, and then the
    /// slot is freed. When the pool is dropped, what is idle is dropped too: call `close()` before.
    #[must_use]
    pub fn with_destroy_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.destroy_timeout = timeout;
        self
    }

    /// Keeps a record of each worker, for `info()` on its guard.
    ///
    /// Default: `false`, for it reads the clock twice for each use. It is kept as well when a lifetime,
    /// a number of uses, an observer or [`with_outstanding`](Self::with_outstanding) is set.
    #[must_use]
    pub fn with_worker_info(mut self, keep: bool) -> Self {
        self.worker_info = keep;
        self
    }
}

/// # Classes
impl PoolOptions {
    /// Lets an idle worker make way for another class only when its replacement has been created.
    ///
    /// Default: `false`, the victim goes first, as scarce hardware needs it. With `true` a creation that
    /// fails costs nothing, but the pool is above its target while it runs, by one worker for each idle
    /// worker that is to make way. Only for a classified pool; in another one every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_create_first(mut self, create_first: bool) -> Self {
        self.create_first = create_first;
        self
    }

    /// By how many workers classes that have none may exceed the target together, where nothing is idle
    /// that could make way.
    ///
    /// Default: `None`, by one for each such class, as in 0.4.1. With `Some(0)` the target is a limit.
    /// Only for a classified pool; in another one every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_overshoot_count(mut self, count: Option<u16>) -> Self {
        self.max_overshoot_count = Some(count);
        self
    }
}

/// # Seeing inside
impl PoolOptions {
    /// What the pool is called in the events of its observers.
    ///
    /// Default: `None`. Several pools in one process are told apart by it.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells an observer what happens in the pool. It may be called several times, for several observers.
    ///
    /// Default: nobody is told, and nothing is done for it. With an observer each use reads the clock
    /// four times, two of them for the worker's record, and takes the pool's lock twice more.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn PoolObserver>) -> Self {
        self.observers.add(observer);
        self
    }

    /// Keeps for each borrowed worker since when it is out and where it was asked for, for
    /// `outstanding()`.
    ///
    /// Default: `false`. It costs what an observer does, and is kept as well where there is one.
    #[must_use]
    pub fn with_outstanding(mut self, keep: bool) -> Self {
        self.outstanding = keep;
        self
    }

    /// Warns the observers when a worker is held for so long, with the place where it was asked for, and
    /// tells them when it comes back after all.
    ///
    /// Default: `None`. It needs an observer, and [`with_maintenance`](Self::with_maintenance), whose task
    /// does the looking; without one of them every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig). Nothing is taken from whoever holds it.
    #[must_use]
    pub fn with_leak_threshold(mut self, threshold: Option<Duration>) -> Self {
        self.leak_threshold = threshold;
        self
    }
}
