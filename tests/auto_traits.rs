//! What the compiler grants to the types: the promises of `api-0.4.1`, and no worker or key needs
//! to be `Sync` for them.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use async_trait::async_trait;
use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard, ClassifiedWorkerPool,
    ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, KeyedWorker, KeyedWorkerFactory,
    KeyedWorkerGuard, KeyedWorkerPool, KeyedWorkerPoolConfig, KeyedWorkerPoolRef,
    PoolDestroyReason, PoolError, PoolErrorCode, PoolObserver, PoolOptions, PoolOrigin,
    PoolOutstanding, PoolResult, PoolStatistics, PoolStep, PoolWaitTimes, Worker, WorkerFactory,
    WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
};
use static_assertions::{assert_impl_all, assert_not_impl_any, assert_obj_safe};

/// A key, class or worker of which the compiler knows no more than of `T`.
#[derive(Clone, PartialEq, Eq)]
struct Of<T>(T);

/// `Send` and `Unpin`, but neither `Sync` nor `RefUnwindSafe`.
type Celled = Of<Cell<u32>>;
type Plain = Of<u32>;
/// Not even `UnwindSafe`.
type Boxed = Of<Box<dyn Hostile>>;
/// Not `Unpin`.
type Pinned = Of<std::marker::PhantomPinned>;

trait Hostile: Send {}

impl std::hash::Hash for Celled {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.get().hash(state);
    }
}

impl std::hash::Hash for Plain {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: Send + 'static> Worker for Of<T> {
    fn is_work(&self) -> bool {
        true
    }
}

impl<T: Send + 'static> KeyedWorker<Celled> for Of<T> {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, _: Celled) -> bool {
        true
    }

    fn primary_key(&self) -> Celled {
        Of(Cell::new(0))
    }
}

impl<T: Send + 'static> KeyedWorker<Plain> for Of<T> {
    fn is_work(&self) -> bool {
        true
    }

    fn supports(&self, _: Plain) -> bool {
        true
    }

    fn primary_key(&self) -> Plain {
        Of(0)
    }
}

impl<T: Send + 'static> ClassifiedWorker<Celled> for Of<T> {
    fn is_work(&self) -> bool {
        true
    }

    fn is_valid(&self, _: Celled) -> bool {
        true
    }

    fn classification(&self) -> Celled {
        Of(Cell::new(0))
    }
}

impl<T: Send + 'static> ClassifiedWorker<Plain> for Of<T> {
    fn is_work(&self) -> bool {
        true
    }

    fn is_valid(&self, _: Plain) -> bool {
        true
    }

    fn classification(&self) -> Plain {
        Of(0)
    }
}

/// Makes no worker: nothing here runs.
struct Factory;

/// The same, but not `RefUnwindSafe`.
struct HostileFactory(#[allow(dead_code, reason = "here for its type")] Box<dyn HostileSync>);

trait HostileSync: Send + Sync {}

macro_rules! factories {
    ($($factory:ty),+) => {
        $(
            #[async_trait]
            impl<T: Send + 'static> WorkerFactory<Of<T>> for $factory {
                async fn create(&self) -> PoolResult<Of<T>> {
                    unreachable!()
                }
            }

            #[async_trait]
            impl<T: Send + 'static> KeyedWorkerFactory<Plain, Of<T>> for $factory {
                async fn create(&self, _: Plain) -> PoolResult<Of<T>> {
                    unreachable!()
                }
            }

            #[async_trait]
            impl<T: Send + 'static> KeyedWorkerFactory<Celled, Of<T>> for $factory {
                async fn create(&self, _: Celled) -> PoolResult<Of<T>> {
                    unreachable!()
                }
            }

            #[async_trait]
            impl<T: Send + 'static> ClassifiedWorkerFactory<Plain, Of<T>> for $factory {
                async fn create(&self, _: Option<Plain>) -> PoolResult<Of<T>> {
                    unreachable!()
                }
            }

            #[async_trait]
            impl<T: Send + 'static> ClassifiedWorkerFactory<Celled, Of<T>> for $factory {
                async fn create(&self, _: Option<Celled>) -> PoolResult<Of<T>> {
                    unreachable!()
                }
            }
        )+
    };
}

factories!(Factory, HostileFactory);

// Configs and errors.
assert_impl_all!(WorkerPoolConfig: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(KeyedWorkerPoolConfig: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(ClassifiedWorkerPoolConfig: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(PoolOptions: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(PoolErrorCode: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(PoolError: std::error::Error, Send, Sync);

// What a pool tells of itself. That options are safe to unwind over, observers and all, stands above.
assert_impl_all!(PoolStatistics: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Clone, Eq);
assert_impl_all!(PoolWaitTimes: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Clone, Eq);
assert_impl_all!(PoolOutstanding: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Clone, Eq);
assert_impl_all!(PoolOrigin<'static>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Copy, Eq);
assert_impl_all!(PoolStep: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Copy, Eq);
assert_impl_all!(PoolDestroyReason: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Copy, Eq);

// Pools are Send and Sync whatever the worker and the key are.
assert_impl_all!(WorkerPool<Celled, HostileFactory>: Send, Sync, Unpin);
assert_impl_all!(KeyedWorkerPool<Celled, Celled, HostileFactory>: Send, Sync, Unpin);
assert_impl_all!(ClassifiedWorkerPool<Celled, Celled, HostileFactory>: Send, Sync, Unpin);
assert_impl_all!(WorkerPool<Boxed, HostileFactory>: Send, Sync);
assert_impl_all!(WorkerPoolRef<Celled, Factory>: Send, Sync, Unpin, Clone);
assert_impl_all!(KeyedWorkerPoolRef<Celled, Celled, Factory>: Send, Sync, Unpin, Clone);
assert_impl_all!(ClassifiedWorkerPoolRef<Celled, Celled, Factory>: Send, Sync, Unpin, Clone);

// They are safe to unwind over if the factory is.
assert_impl_all!(WorkerPool<Boxed, Factory>: UnwindSafe, RefUnwindSafe);
assert_impl_all!(KeyedWorkerPool<Celled, Boxed, Factory>: UnwindSafe, RefUnwindSafe);
assert_impl_all!(ClassifiedWorkerPool<Celled, Boxed, Factory>: UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(WorkerPool<Plain, HostileFactory>: UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(KeyedWorkerPool<Plain, Plain, HostileFactory>: UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(ClassifiedWorkerPool<Plain, Plain, HostileFactory>: UnwindSafe, RefUnwindSafe);

// Guards are Send whatever the worker and the key are.
assert_impl_all!(WorkerGuard<Celled, HostileFactory>: Send, Unpin);
assert_impl_all!(KeyedWorkerGuard<Celled, Celled, HostileFactory>: Send, Unpin);
assert_impl_all!(ClassifiedWorkerGuard<Celled, Celled, HostileFactory>: Send, Unpin);
assert_impl_all!(WorkerGuard<Boxed, HostileFactory>: Send, Unpin);
assert_impl_all!(WorkerGuard<Pinned, Factory>: Send);

// A guard is what its worker and its key are.
assert_impl_all!(WorkerGuard<Plain, Factory>: Sync, UnwindSafe, RefUnwindSafe);
assert_impl_all!(KeyedWorkerGuard<Plain, Plain, Factory>: Sync, UnwindSafe, RefUnwindSafe);
assert_impl_all!(ClassifiedWorkerGuard<Plain, Plain, Factory>: Sync, UnwindSafe, RefUnwindSafe);
assert_impl_all!(WorkerGuard<Celled, Factory>: UnwindSafe);
assert_impl_all!(KeyedWorkerGuard<Celled, Celled, Factory>: UnwindSafe);
assert_impl_all!(ClassifiedWorkerGuard<Celled, Celled, Factory>: UnwindSafe);
assert_not_impl_any!(WorkerGuard<Celled, Factory>: Sync, RefUnwindSafe);
assert_not_impl_any!(KeyedWorkerGuard<Plain, Celled, Factory>: Sync, RefUnwindSafe);
assert_not_impl_any!(ClassifiedWorkerGuard<Plain, Celled, Factory>: Sync, RefUnwindSafe);
assert_not_impl_any!(WorkerGuard<Boxed, Factory>: Sync, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(WorkerGuard<Plain, HostileFactory>: UnwindSafe, RefUnwindSafe);

// The traits make objects.
assert_obj_safe!(Worker);
assert_obj_safe!(PoolObserver);
assert_obj_safe!(WorkerFactory<Celled>);
assert_obj_safe!(KeyedWorker<Celled>);
assert_obj_safe!(KeyedWorkerFactory<Celled, Celled>);
assert_obj_safe!(ClassifiedWorker<Celled>);
assert_obj_safe!(ClassifiedWorkerFactory<Celled, Celled>);

fn is_send<T: Send>(value: T) {
    drop(value);
}

/// With workers and keys that are not `Sync`, borrowed and moved into a task alike.
#[test]
fn futures_are_send_whatever_the_worker_and_the_key_are() {
    let pool = WorkerPool::<Celled, _>::new(1, Factory);
    is_send(pool.get_worker());
    is_send(pool.clear_all_worker());
    spawnable(async move { drop(pool.get_worker().await) });

    let key = || Of(Cell::new(1));
    let pool = KeyedWorkerPool::<Celled, Celled, _>::new(Factory, Default::default());
    is_send(pool.get_worker(key()));
    is_send(pool.clear_all_worker());
    spawnable(async move { drop(pool.get_worker(key()).await) });

    let pool = ClassifiedWorkerPool::<Celled, Celled, _>::new(Factory, Default::default());
    is_send(pool.get_worker());
    is_send(pool.get_classified_worker(key()));
    is_send(pool.clear_all_worker());
    spawnable(async move {
        let guard = pool.get_classified_worker(key()).await;
        pool.clear_all_worker().await;
        drop((guard, Arc::clone(&pool)));
    });
}

fn spawnable(future: impl Future<Output = ()> + Send + 'static) {
    is_send(future);
}
