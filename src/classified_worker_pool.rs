use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::impl_guard;
use crate::limits::Limits;
use crate::operations::impl_operations;
use crate::scheduler::Sharing;
use crate::shell::{Begun, Filed, Fragile, Handle, Loan, Request, Trade, file, finished, made};
use crate::{PoolOptions, PoolResult};

/// What can be the class of a worker in a [`ClassifiedWorkerPool`]: every type that can be cloned,
/// hashed and compared.
///
/// `Hash` is asked once for each call, outside the pool's lock. `Eq` is asked under the lock, where
/// classes are looked up. So are the `Clone` that [`is_valid`](ClassifiedWorker::is_valid) takes there
/// and the destructor of that clone. All of these must be quick and must not call the pool. If one
/// panics, nothing has changed.
///
/// Prefer a type without a lifetime; see [`WorkerKey`](crate::WorkerKey).
///
/// # Example
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Eq, Hash)]
/// enum Size {
///     Small,
///     Large,
/// }
///
/// fn is_classification<C: sfo_pool::WorkerClassification>(_: C) {}
///
/// is_classification(Size::Small);
/// is_classification("large".to_owned());
/// ```
pub trait WorkerClassification: Send + 'static + Clone + Hash + Eq + PartialEq {}

impl<T: Send + 'static + Clone + Hash + Eq + PartialEq> WorkerClassification for T {}

/// A worker that has a class: an interpreter its language, a model server its model.
///
/// # Example
///
/// ```
/// use sfo_pool::ClassifiedWorker;
///
/// #[derive(Clone, Copy, PartialEq, Eq, Hash)]
/// enum Size {
///     Small,
///     Large,
/// }
///
/// struct Sandbox(Size);
///
/// impl ClassifiedWorker<Size> for Sandbox {
///     fn is_work(&self) -> bool {
///         true
///     }
///
///     /// A large one serves those who want a small one as well.
///     fn is_valid(&self, size: Size) -> bool {
///         self.0 == size || size == Size::Small
///     }
///
///     fn classification(&self) -> Size {
///         self.0
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait ClassifiedWorker<C: WorkerClassification>: Send + 'static {
    /// Whether the worker can be used; see [`Worker::is_work`](crate::Worker::is_work).
    fn is_work(&self) -> bool;
    /// Whether the worker serves the class `c`.
    ///
    /// It must serve its own class: it is asked when it is created, returned or about to be reused, and
    /// destroyed if it denies it. By saying `true` to others it widens what it is used for.
    ///
    /// For other classes it is asked **under the pool's lock**: when it is returned and others wait, once
    /// for each class that waits, the oldest first; and when it is idle and a request finds none of its
    /// own class. There it must be quick and must not call the pool; the same goes for the `Clone` of `c`
    /// that it takes and the destructor of that clone, which run there as well. A panic there changes
    /// nothing in the pool; in a guard's drop it counts as a worker that is not well, in a `get` it reaches
    /// the caller.
    fn is_valid(&self, c: C) -> bool;
    /// The class of the worker, under which it is counted. It is remembered when the worker is created; a
    /// worker that names another one later is destroyed when it is returned or about to be reused.
    fn classification(&self) -> C;
}

/// Makes the workers of a [`ClassifiedWorkerPool`].
///
/// # Example
///
/// ```
/// use std::process::Stdio;
///
/// use async_trait::async_trait;
/// use sfo_pool::{ClassifiedWorker, ClassifiedWorkerFactory, PoolResult, into_pool_err};
/// use tokio::process::{Child, Command};
///
/// /// A child process, whose class is the name of its program.
/// struct Interpreter {
///     program: String,
///     child: Child,
/// }
///
/// # impl ClassifiedWorker<String> for Interpreter {
/// #     fn is_work(&self) -> bool { true }
/// #     fn is_valid(&self, program: String) -> bool { self.program == program }
/// #     fn classification(&self) -> String { self.program.clone() }
/// # }
/// #
/// struct Interpreters;
///
/// #[async_trait]
/// impl ClassifiedWorkerFactory<String, Interpreter> for Interpreters {
///     async fn create(&self, program: Option<String>) -> PoolResult<Interpreter> {
///         // Whoever takes any gets a shell.
///         let program = program.unwrap_or_else(|| "sh".to_owned());
///         let child = Command::new(&program)
///             .stdin(Stdio::piped())
///             .stdout(Stdio::piped())
///             .kill_on_drop(true)
///             .spawn()
///             .map_err(into_pool_err!("start {program}"))?;
///         Ok(Interpreter { program, child })
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait ClassifiedWorkerFactory<C: WorkerClassification, W: ClassifiedWorker<C>>:
    Send + Sync + 'static
{
    /// Makes a worker whose [`classification`](ClassifiedWorker::classification) is `c` and that is valid
    /// for it; for `None`, one of a class of its choice, that is valid for that.
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
    /// another class, or one that denies it, is destroyed, and its caller gets
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    async fn create(&self, c: Option<C>) -> PoolResult<W>;

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

    /// What a class is called, for people: in the events of an observer, and in `outstanding()`.
    ///
    /// Called only where one of the options [`with_observer`](crate::PoolOptions::with_observer) and
    /// [`with_outstanding`](crate::PoolOptions::with_outstanding) is set, for each new worker and for a
    /// request that waits or ends without one, outside every lock. Default: `None`. A panic counts as
    /// `None`.
    fn label(&self, c: &C) -> Option<String> {
        _ = c;
        None
    }
}

/// The limits of a [`ClassifiedWorkerPool`]. The default has none.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sfo_pool::ClassifiedWorkerPoolConfig;
///
/// let config = ClassifiedWorkerPoolConfig::default()
///     .with_max_count(Some(8))
///     .with_max_count_per_classification(Some(4))
///     .with_idle_timeout(Some(Duration::from_secs(60)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ClassifiedWorkerPoolConfig {
    /// See [`with_max_count`](Self::with_max_count).
    pub max_count: Option<u16>,
    /// See [`with_idle_timeout`](Self::with_idle_timeout).
    pub idle_timeout: Option<Duration>,
    /// See [`with_max_count_per_classification`](Self::with_max_count_per_classification).
    pub max_count_per_classification: Option<u16>,
}

impl ClassifiedWorkerPoolConfig {
    /// The target for the number of workers: idle, borrowed, being created or being destroyed.
    ///
    /// It is exceeded in one case: a request for a class that has no worker and no creation under way, when
    /// nothing is idle that could make way, creates one all the same. So the excess is at most one for each
    /// class that was missing, and it falls back as workers are returned.
    ///
    /// Default: `None`, no limit, for only you know for how many there is room; without one no worker has
    /// to make way. With `Some(0)` every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_count(mut self, max_count: Option<u16>) -> Self {
        self.max_count = max_count;
        self
    }

    /// How long a returned worker may be idle; one that has been for at least this long has expired.
    ///
    /// Default: `None`, never, for the pool can't know how long the other side keeps a session. An
    /// expired worker is never handed out; it is destroyed by the next request that looks into its
    /// pool, or by [`cleanup_idle_worker`](ClassifiedWorkerPool::cleanup_idle_worker). `Duration::MAX` never comes,
    /// `Duration::ZERO` at once. The clock is tokio's, so paused time works; a request that is
    /// served at once reads it only if this is set.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Option<Duration>) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// How many workers of each class there may be at a time, whatever the target says. A request for a
    /// class at its limit waits for a worker that is valid for it.
    ///
    /// Default: `None`, no limit apart from the target, under which the classes share what there is as
    /// they are asked for. With `Some(0)` every `get` returns
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig).
    #[must_use]
    pub fn with_max_count_per_classification(mut self, max_count: Option<u16>) -> Self {
        self.max_count_per_classification = max_count;
        self
    }
}

/// A borrowed worker, which it derefs to. Dropping it gives the worker back.
///
/// The worker goes to the oldest request that it is valid for. If it fits nobody, but a request for
/// another class could be served in its slot, it is destroyed, and that request creates. For the rest
/// see [`WorkerGuard`](crate::WorkerGuard).
///
/// # Example
///
/// ```
/// # use sfo_pool::{
/// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
/// #     ClassifiedWorkerPoolConfig, PoolResult,
/// # };
/// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
/// # enum Language { Shell, Python }
/// # struct Interpreter(Language);
/// # impl ClassifiedWorker<Language> for Interpreter {
/// #     fn is_work(&self) -> bool { true }
/// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
/// #     fn classification(&self) -> Language { self.0 }
/// # }
/// # struct Interpreters;
/// # #[async_trait::async_trait]
/// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
/// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
/// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// fn name(interpreter: &ClassifiedWorkerGuard<Language, Interpreter, Interpreters>) -> String {
///     format!("{:?}", interpreter.0)
/// }
///
/// let pool = ClassifiedWorkerPool::new(Interpreters, ClassifiedWorkerPoolConfig::default());
/// {
///     let python = pool.get_classified_worker(Language::Python).await?;
///     assert_eq!(name(&python), "Python");
/// } // here it goes back
/// # Ok(())
/// # }
/// ```
#[must_use = "a guard that is dropped at once gives its worker back at once"]
pub struct ClassifiedWorkerGuard<
    C: WorkerClassification,
    W: ClassifiedWorker<C>,
    F: ClassifiedWorkerFactory<C, W>,
> {
    loan: Loan<Classified<C, W, F>>,
}

/// How the examples that all pools share begin here.
macro_rules! setup {
    () => {
        "\
# use sfo_pool::{
#     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
#     PoolResult,
# };
# struct Sandbox(u32);
# impl ClassifiedWorker<u32> for Sandbox {
#     fn is_work(&self) -> bool { true }
#     fn is_valid(&self, size: u32) -> bool { self.0 == size }
#     fn classification(&self) -> u32 { self.0 }
# }
# struct Sandboxes;
# #[async_trait::async_trait]
# impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
#     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
# }
# #[tokio::main(flavor = \"current_thread\")]
# async fn main() -> PoolResult<()> {
let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());"
    };
}

impl_guard!(
    [C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>]
    ClassifiedWorkerGuard<C, W, F>, "ClassifiedWorkerGuard", W,
    setup!(),
    "pool.get_classified_worker(1)"
);

/// A pool of workers that have a class, with a common target for their number.
///
/// A request for a class takes, in this order:
///
/// 1. the most recently returned idle worker of that class;
/// 2. the most recently returned idle worker of any class that is
///    [valid](ClassifiedWorker::is_valid) for it;
/// 3. a new one, in a free slot;
/// 4. a new one, in the slot of the least recently used idle worker, which is destroyed first;
/// 5. a new one above the target, if its class has nothing at all;
/// 6. whatever is returned or freed, in its place in the line.
///
/// At most 20 workers are created at a time, unless
/// [`PoolOptions`](PoolOptions::with_max_concurrent_creation_count) say otherwise; a request that only
/// this stops waits in the line as well.
///
/// A request for any class takes any idle worker, creates in a free slot, or waits.
///
/// A returned worker may go to a younger request that it fits, past an older one that would need its
/// slot, for that saves a destruction and a creation. After 16 such returns in a row the older one
/// gets the slot, so that nobody starves.
///
/// # Example
///
/// ```
/// # use sfo_pool::{
/// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
/// #     PoolResult,
/// # };
/// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
/// # enum Language { Shell, Python }
/// # struct Interpreter(Language);
/// # impl ClassifiedWorker<Language> for Interpreter {
/// #     fn is_work(&self) -> bool { true }
/// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
/// #     fn classification(&self) -> Language { self.0 }
/// # }
/// # struct Interpreters;
/// # #[async_trait::async_trait]
/// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
/// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
/// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let config = ClassifiedWorkerPoolConfig::default().with_max_count(Some(1));
/// let pool = ClassifiedWorkerPool::new(Interpreters, config);
///
/// drop(pool.get_classified_worker(Language::Shell).await?);
/// // There is room for one: the idle shell makes way.
/// let python = pool.get_classified_worker(Language::Python).await?;
/// assert_eq!(python.0, Language::Python);
/// # Ok(())
/// # }
/// ```
pub struct ClassifiedWorkerPool<
    C: WorkerClassification,
    W: ClassifiedWorker<C>,
    F: ClassifiedWorkerFactory<C, W>,
> {
    handle: Handle<Classified<C, W, F>>,
}

/// A shared [`ClassifiedWorkerPool`], as its constructors return it: clone it into your tasks.
///
/// # Example
///
/// ```
/// # use sfo_pool::{
/// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool,
/// #     ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, PoolResult,
/// # };
/// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
/// # enum Language { Shell, Python }
/// # struct Interpreter(Language);
/// # impl ClassifiedWorker<Language> for Interpreter {
/// #     fn is_work(&self) -> bool { true }
/// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
/// #     fn classification(&self) -> Language { self.0 }
/// # }
/// # struct Interpreters;
/// # #[async_trait::async_trait]
/// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
/// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
/// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// struct Service {
///     interpreters: ClassifiedWorkerPoolRef<Language, Interpreter, Interpreters>,
/// }
///
/// let pool = ClassifiedWorkerPool::new(Interpreters, ClassifiedWorkerPoolConfig::default());
/// let service = Service { interpreters: pool };
/// let interpreters = service.interpreters.clone();
/// tokio::spawn(async move {
///     let python = interpreters.get_classified_worker(Language::Python).await?;
///     // … use it …
///     PoolResult::Ok(())
/// })
/// .await
/// .expect("the task does not panic")?;
/// # Ok(())
/// # }
/// ```
pub type ClassifiedWorkerPoolRef<C, W, F> = Arc<ClassifiedWorkerPool<C, W, F>>;

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>>
    ClassifiedWorkerPool<C, W, F>
{
    /// A pool with the limits of `config`. Nothing is created or reserved yet.
    ///
    /// A limit of 0 is reported by every request.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool,
    /// #     ClassifiedWorkerPoolConfig, PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// let config = ClassifiedWorkerPoolConfig::default().with_max_count(Some(8));
    /// let pool = ClassifiedWorkerPool::new(Interpreters, config);
    /// ```
    pub fn new(factory: F, config: ClassifiedWorkerPoolConfig) -> ClassifiedWorkerPoolRef<C, W, F> {
        Self::new_with_options(factory, config, PoolOptions::default())
    }

    /// The same with [`PoolOptions`]: everything that is not a limit of 0.4.1 is set there.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool,
    /// #     ClassifiedWorkerPoolConfig, PoolOptions, PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// // Up to 100 interpreters, of which only 4 start at a time.
    /// let pool = ClassifiedWorkerPool::new_with_options(
    ///     Interpreters,
    ///     ClassifiedWorkerPoolConfig::default().with_max_count(Some(100)),
    ///     PoolOptions::default().with_max_concurrent_creation_count(Some(4)),
    /// );
    /// ```
    pub fn new_with_options(
        factory: F,
        config: ClassifiedWorkerPoolConfig,
        options: PoolOptions,
    ) -> ClassifiedWorkerPoolRef<C, W, F> {
        let limits = Limits::new(Sharing::Apart)
            .with_target(
                config.max_count,
                "pool max_count is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_bucket_limit(
                config.max_count_per_classification,
                "pool max_count_per_classification is zero, so no worker could ever be created: \
                 set it to 1 or more, or to None for no limit",
            )
            .with_idle_timeout(config.idle_timeout)
            .with_options(options, Some(DEFAULT_CREATIONS));
        let trade = Classified { factory, worker: PhantomData };
        Arc::new(Self { handle: Handle::new(trade, limits, None) })
    }

    /// Gets a worker of any class: the most recently returned idle one, or a new one, or the next that is
    /// returned.
    ///
    /// If the class of the new worker is at its limit already, the worker is destroyed and the request
    /// waits in its original place for a worker, or for a slot when that class has room.
    ///
    /// # Errors
    ///
    /// As for [`WorkerPool::get_worker`](crate::WorkerPool::get_worker), and
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig) as well if the factory's worker is not valid
    /// for its own class. That worker is destroyed.
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
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Interpreters, ClassifiedWorkerPoolConfig::default());
    /// let python = pool.get_classified_worker(Language::Python).await?;
    /// drop(python);
    /// assert_eq!(pool.get_worker().await?.0, Language::Python);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
    ) -> impl Future<Output = PoolResult<ClassifiedWorkerGuard<C, W, F>>> {
        let place = Location::caller();
        async move {
            let (shell, request) = (self.handle.whole(), Request::Any);
            let mut pursuit = match shell.begin(request, place) {
                Begun::Served(loan) => return Ok(ClassifiedWorkerGuard { loan }),
                Begun::Pursues(pursuit) => pursuit,
            };
            pursuit.finish(None).await.map(|loan| ClassifiedWorkerGuard { loan })
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
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # struct Sandbox(u32);
    /// # impl ClassifiedWorker<u32> for Sandbox {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, size: u32) -> bool { self.0 == size }
    /// #     fn classification(&self) -> u32 { self.0 }
    /// # }
    /// # struct Sandboxes;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
    /// #     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());
    /// use std::time::Duration;
    ///
    /// let worker = pool.get_worker_timeout(Duration::from_secs(1)).await?;
    /// # drop(worker);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_worker_timeout(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
        timeout: Duration,
    ) -> impl Future<Output = PoolResult<ClassifiedWorkerGuard<C, W, F>>> {
        let place = Location::caller();
        async move {
            let (shell, request) = (self.handle.whole(), Request::Any);
            shell
                .get_within(request, timeout, place)
                .await
                .map(|loan| ClassifiedWorkerGuard { loan })
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
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # struct Sandbox(u32);
    /// # impl ClassifiedWorker<u32> for Sandbox {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, size: u32) -> bool { self.0 == size }
    /// #     fn classification(&self) -> u32 { self.0 }
    /// # }
    /// # struct Sandboxes;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
    /// #     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());
    /// assert!(pool.try_get_worker()?.is_none());
    /// drop(pool.get_worker().await?);
    /// assert!(pool.try_get_worker()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_get_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
    ) -> PoolResult<Option<ClassifiedWorkerGuard<C, W, F>>> {
        let (shell, request) = (self.handle.whole(), Request::Any);
        let loan = shell.try_get(request, Location::caller())?;
        Ok(loan.map(|loan| ClassifiedWorkerGuard { loan }))
    }

    /// Gets a worker that serves `classification`, in the order that
    /// [`ClassifiedWorkerPool`] describes.
    ///
    /// # Errors
    ///
    /// As for [`WorkerPool::get_worker`](crate::WorkerPool::get_worker), and
    /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig) as well if the factory's worker has another
    /// class, or is not valid for it. That worker is destroyed.
    ///
    /// It waits for ever, unless [`with_acquire_timeout`](PoolOptions::with_acquire_timeout) says how long,
    /// or [`get_classified_worker_timeout`](Self::get_classified_worker_timeout). A task that holds a guard and waits for a second one
    /// can wait for ever, if all the others do the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future, at any point, leaves the pool as if there had been no call; but an idle worker
    /// that has made way for it by then is gone, and leaves a free slot for the next request.
    ///
    /// A future that is [forgotten](std::mem::forget) while it waits keeps what it is given until a clear.
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Interpreters, ClassifiedWorkerPoolConfig::default());
    /// let python = pool.get_classified_worker(Language::Python).await?;
    /// assert_eq!(python.0, Language::Python);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_classified_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
        classification: C,
    ) -> impl Future<Output = PoolResult<ClassifiedWorkerGuard<C, W, F>>> {
        let place = Location::caller();
        async move {
            let (shell, request) = self.handle.request_of(classification);
            let mut pursuit = match shell.begin(request, place) {
                Begun::Served(loan) => return Ok(ClassifiedWorkerGuard { loan }),
                Begun::Pursues(pursuit) => pursuit,
            };
            pursuit.finish(None).await.map(|loan| ClassifiedWorkerGuard { loan })
        }
    }

    /// The same within `timeout`, from the first poll on, whatever
    /// [`with_acquire_timeout`](crate::PoolOptions::with_acquire_timeout) says.
    ///
    /// # Errors
    ///
    /// As for [`get_classified_worker`](Self::get_classified_worker).
    ///
    /// # Cancel safety
    ///
    /// As for [`get_classified_worker`](Self::get_classified_worker).
    ///
    /// # Example
    ///
    /// ```
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # struct Sandbox(u32);
    /// # impl ClassifiedWorker<u32> for Sandbox {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, size: u32) -> bool { self.0 == size }
    /// #     fn classification(&self) -> u32 { self.0 }
    /// # }
    /// # struct Sandboxes;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
    /// #     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());
    /// use std::time::Duration;
    ///
    /// let worker = pool.get_classified_worker_timeout(1, Duration::from_secs(1)).await?;
    /// # drop(worker);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get_classified_worker_timeout(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
        classification: C,
        timeout: Duration,
    ) -> impl Future<Output = PoolResult<ClassifiedWorkerGuard<C, W, F>>> {
        let place = Location::caller();
        async move {
            let (shell, request) = self.handle.request_of(classification);
            shell
                .get_within(request, timeout, place)
                .await
                .map(|loan| ClassifiedWorkerGuard { loan })
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
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # struct Sandbox(u32);
    /// # impl ClassifiedWorker<u32> for Sandbox {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, size: u32) -> bool { self.0 == size }
    /// #     fn classification(&self) -> u32 { self.0 }
    /// # }
    /// # struct Sandboxes;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
    /// #     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());
    /// assert!(pool.try_get_classified_worker(1)?.is_none());
    /// drop(pool.get_classified_worker(1).await?);
    /// assert!(pool.try_get_classified_worker(1)?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_get_classified_worker(
        self: &ClassifiedWorkerPoolRef<C, W, F>,
        classification: C,
    ) -> PoolResult<Option<ClassifiedWorkerGuard<C, W, F>>> {
        let (shell, request) = self.handle.request_of(classification);
        let loan = shell.try_get(request, Location::caller())?;
        Ok(loan.map(|loan| ClassifiedWorkerGuard { loan }))
    }

    /// Creates workers that nobody has asked for yet, one after the other, until there are `count` in
    /// all, of whatever class the factory chooses, and returns how many it created. It never exceeds a limit, and stops early where
    /// there is no room or somebody waits, or if a new worker belongs to a class that is full.
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
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # struct Sandbox(u32);
    /// # impl ClassifiedWorker<u32> for Sandbox {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, size: u32) -> bool { self.0 == size }
    /// #     fn classification(&self) -> u32 { self.0 }
    /// # }
    /// # struct Sandboxes;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<u32, Sandbox> for Sandboxes {
    /// #     async fn create(&self, size: Option<u32>) -> PoolResult<Sandbox> { Ok(Sandbox(size.unwrap_or(1))) }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Sandboxes, ClassifiedWorkerPoolConfig::default());
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
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let config = ClassifiedWorkerPoolConfig::default().with_idle_timeout(Some(Duration::ZERO));
    /// let pool = ClassifiedWorkerPool::new(Interpreters, config);
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
    /// # use sfo_pool::{
    /// #     ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    /// #     PoolResult,
    /// # };
    /// # #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    /// # enum Language { Shell, Python }
    /// # struct Interpreter(Language);
    /// # impl ClassifiedWorker<Language> for Interpreter {
    /// #     fn is_work(&self) -> bool { true }
    /// #     fn is_valid(&self, language: Language) -> bool { self.0 == language }
    /// #     fn classification(&self) -> Language { self.0 }
    /// # }
    /// # struct Interpreters;
    /// # #[async_trait::async_trait]
    /// # impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    /// #     async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
    /// #         Ok(Interpreter(language.unwrap_or(Language::Shell)))
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> PoolResult<()> {
    /// let pool = ClassifiedWorkerPool::new(Interpreters, ClassifiedWorkerPoolConfig::default());
    /// drop(pool.get_worker().await?);
    /// pool.clear_all_worker().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn clear_all_worker(&self) {
        self.handle.clear().await;
    }
}

impl_operations!(
    [C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>]
    ClassifiedWorkerPool<C, W, F>, W,
    setup!(),
    "pool.get_classified_worker(1)"
);

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>> fmt::Debug
    for ClassifiedWorkerPool<C, W, F>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifiedWorkerPool").field("state", &self.handle).finish_non_exhaustive()
    }
}

/// How many creations run at a time unless an option says otherwise.
const DEFAULT_CREATIONS: u16 = 20;

/// Workers that have a class.
struct Classified<C, W, F> {
    factory: F,
    worker: PhantomData<fn() -> (C, W)>,
}

impl<C: WorkerClassification, W: ClassifiedWorker<C>, F: ClassifiedWorkerFactory<C, W>> Trade
    for Classified<C, W, F>
{
    type Key = C;
    type Worker = W;

    async fn create(&self, c: Option<C>) -> PoolResult<Filed<C, W>> {
        let c = c.map(Fragile::new);
        let asked = c.as_deref().cloned();
        let worker = made(self.factory.create(asked)).await?;
        let primary = worker.classification();
        file(
            worker,
            primary,
            c,
            W::is_valid,
            "factory returned worker with mismatched classification: classification() of the new \
             worker must equal the class that create() was given",
            "worker primary classification is not valid for itself: \
             is_valid() of the new worker denies its own classification()",
        )
    }

    async fn recycle(&self, unit: &mut Filed<C, W>) -> PoolResult<()> {
        finished(self.factory.recycle(&mut unit.worker)).await
    }

    async fn destroy(&self, unit: Filed<C, W>) {
        let Filed { worker, key } = unit;
        let key = Fragile::new(key);
        finished(self.factory.destroy(worker)).await;
        drop(key);
    }

    fn label(&self, c: &C) -> Option<String> {
        self.factory.label(c)
    }

    fn is_well(unit: &Filed<C, W>) -> bool {
        let Filed { worker, key } = unit;
        if !worker.is_work() {
            return false;
        }
        let primary = Fragile::new(worker.classification());
        *primary == *key && worker.is_valid(primary.into_inner())
    }

    fn serves(unit: &Filed<C, W>, class: &C) -> bool {
        unit.worker.is_valid(class.clone())
    }
}
