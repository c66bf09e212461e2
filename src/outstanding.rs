use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A borrowed worker: who holds it, and for how long.
///
/// # Example
///
/// ```
/// # use sfo_pool::{
/// #     PoolOptions, PoolResult, Worker, WorkerFactory, WorkerGuard, WorkerPool, WorkerPoolConfig,
/// # };
/// # struct Connection;
/// # impl Worker for Connection { fn is_work(&self) -> bool { true } }
/// # struct Server;
/// # #[async_trait::async_trait]
/// # impl WorkerFactory<Connection> for Server {
/// #     async fn create(&self) -> PoolResult<Connection> { Ok(Connection) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> PoolResult<()> {
/// let options = PoolOptions::default().with_outstanding(true);
/// let pool = WorkerPool::new_with_options(Server, WorkerPoolConfig::default(), options);
///
/// let connection = pool.get_worker().await?;
/// WorkerGuard::set_label(&connection, "nightly report");
///
/// let outstanding = &pool.outstanding()[0];
/// assert_eq!(outstanding.label.as_deref(), Some("nightly report"));
/// assert_eq!(outstanding.place.file(), file!());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOutstanding {
    /// A number that no other worker of this process has.
    pub worker: u64,
    /// What the factory calls the worker's key or class.
    pub key: Option<Arc<str>>,
    /// For how long it is out.
    pub held: Duration,
    /// Where the call was made that got it. In a service that wraps the call in a function of its own this
    /// is that function, unless it is `#[track_caller]` and no `async fn`: tell holders apart by `set_label`
    /// there.
    pub place: &'static Location<'static>,
    /// What its holder calls itself, by `set_label` on the guard.
    pub label: Option<Cow<'static, str>>,
}
