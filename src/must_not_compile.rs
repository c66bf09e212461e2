//! What must not compile, each beside what does and differs in one line, so that it is known to
//! fail for the right reason, whatever the compiler says about it.
//!
//! A guard cannot be cloned, or two would hold the same worker.
//!
//! ```
//! # use sfo_pool::{Worker, WorkerFactory, WorkerGuard};
//! fn keep<W: Worker, F: WorkerFactory<W>>(guard: WorkerGuard<W, F>) {
//!     let kept = guard;
//!     drop(kept);
//! }
//! ```
//!
//! ```compile_fail
//! # use sfo_pool::{Worker, WorkerFactory, WorkerGuard};
//! fn keep<W: Worker, F: WorkerFactory<W>>(guard: WorkerGuard<W, F>) {
//!     let kept: WorkerGuard<W, F> = guard.clone();
//!     drop(kept);
//! }
//! ```
//!
//! A slot cannot be forged: a guard comes from a pool, and from nowhere else.
//!
//! ```
//! # use sfo_pool::{Worker, WorkerFactory, WorkerGuard};
//! fn lend<W: Worker, F: WorkerFactory<W>>(guard: WorkerGuard<W, F>, _: W) -> WorkerGuard<W, F> {
//!     guard
//! }
//! ```
//!
//! ```compile_fail
//! # use sfo_pool::{Worker, WorkerFactory, WorkerGuard};
//! fn lend<W: Worker, F: WorkerFactory<W>>(guard: WorkerGuard<W, F>, _: W) -> WorkerGuard<W, F> {
//!     WorkerGuard { ..guard }
//! }
//! ```
//!
//! ```compile_fail
//! # use sfo_pool::{Worker, WorkerFactory, WorkerGuard};
//! fn lend<W: Worker, F: WorkerFactory<W>>(_: WorkerGuard<W, F>, worker: W) -> WorkerGuard<W, F> {
//!     worker.into()
//! }
//! ```
//!
//! A guard that is not used warns.
//!
//! ```
//! # #![deny(unused_must_use)]
//! # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPoolRef};
//! async fn use_it<W: Worker, F: WorkerFactory<W>>(pool: WorkerPoolRef<W, F>) -> PoolResult<()> {
//!     let _guard = pool.get_worker().await?;
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail
//! # #![deny(unused_must_use)]
//! # use sfo_pool::{PoolResult, Worker, WorkerFactory, WorkerPoolRef};
//! async fn use_it<W: Worker, F: WorkerFactory<W>>(pool: WorkerPoolRef<W, F>) -> PoolResult<()> {
//!     pool.get_worker().await?;
//!     Ok(())
//! }
//! ```
//!
//! A match on an error code needs a wildcard arm, for new codes may come.
//!
//! ```
//! # use sfo_pool::PoolErrorCode::{self, Cleared, Clearing, Failed, InvalidConfig};
//! fn name(code: PoolErrorCode) -> &'static str {
//!     match code {
//!         Failed | Clearing | Cleared | InvalidConfig => "known",
//!         _ => "new",
//!     }
//! }
//! ```
//!
//! ```compile_fail
//! # use sfo_pool::PoolErrorCode::{self, Cleared, Clearing, Failed, InvalidConfig};
//! fn name(code: PoolErrorCode) -> &'static str {
//!     match code {
//!         Failed | Clearing | Cleared | InvalidConfig => "known",
//!     }
//! }
//! ```
