//! This crate and its published predecessor, word for word the same.

macro_rules! contender {
    ($module:ident, $krate:ident, $name:expr) => {
        pub mod $module {
            use async_trait::async_trait;
            use $krate::{
                ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerGuard,
                ClassifiedWorkerPool, ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef,
                KeyedWorker, KeyedWorkerFactory, KeyedWorkerGuard, KeyedWorkerPool,
                KeyedWorkerPoolConfig, KeyedWorkerPoolRef, PoolError, PoolResult, WorkerFactory,
                WorkerGuard, WorkerPool, WorkerPoolConfig, WorkerPoolRef,
            };

            use crate::contenders::Contender;
            use crate::worker::{Maker, Setup, Worker};

            impl $krate::Worker for Worker {
                #[inline]
                fn is_work(&self) -> bool {
                    !self.is_dead
                }
            }

            #[derive(Clone)]
            pub struct Factory(Maker);

            impl Factory {
                pub fn new(maker: Maker) -> Self {
                    Self(maker)
                }
            }

            #[async_trait]
            impl WorkerFactory<Worker> for Factory {
                async fn create(&self) -> PoolResult<Worker> {
                    Ok(self.0.make().await)
                }
            }

            #[derive(Clone)]
            pub struct Plain(WorkerPoolRef<Worker, Factory>);

            impl Contender for Plain {
                const NAME: &'static str = $name;

                type Guard = WorkerGuard<Worker, Factory>;
                type Error = PoolError;

                fn new(setup: &Setup) -> Self {
                    let limits = WorkerPoolConfig::default()
                        .with_max_count(Some(setup.max_count))
                        .with_idle_timeout(setup.idle_timeout);
                    Self(WorkerPool::new_with_config(Factory(setup.maker.clone()), limits))
                }

                fn discard(mut guard: Self::Guard) {
                    guard.is_dead = true;
                }
            }

            impl crate::contenders::Plain for Plain {
                #[inline]
                fn get(&self) -> impl Future<Output = PoolResult<Self::Guard>> + Send {
                    self.0.get_worker()
                }
            }

            /// A worker that knows its key or class.
            pub struct Labelled {
                label: u64,
                worker: Worker,
            }

            impl KeyedWorker<u64> for Labelled {
                #[inline]
                fn is_work(&self) -> bool {
                    !self.worker.is_dead
                }

                #[inline]
                fn supports(&self, key: u64) -> bool {
                    self.label == key
                }

                #[inline]
                fn primary_key(&self) -> u64 {
                    self.label
                }
            }

            #[async_trait]
            impl KeyedWorkerFactory<u64, Labelled> for Factory {
                async fn create(&self, key: u64) -> PoolResult<Labelled> {
                    Ok(Labelled { label: key, worker: self.0.make().await })
                }
            }

            #[derive(Clone)]
            pub struct Keyed(KeyedWorkerPoolRef<u64, Labelled, Factory>);

            impl Contender for Keyed {
                const NAME: &'static str = $name;

                type Guard = KeyedWorkerGuard<u64, Labelled, Factory>;
                type Error = PoolError;

                fn new(setup: &Setup) -> Self {
                    let limits = KeyedWorkerPoolConfig::default()
                        .with_max_count_per_key(Some(setup.max_count))
                        .with_idle_timeout(setup.idle_timeout);
                    Self(KeyedWorkerPool::new(Factory(setup.maker.clone()), limits))
                }

                fn discard(mut guard: Self::Guard) {
                    guard.worker.is_dead = true;
                }
            }

            impl crate::contenders::Keyed for Keyed {
                #[inline]
                fn get(&self, key: u64) -> impl Future<Output = PoolResult<Self::Guard>> + Send {
                    self.0.get_worker(key)
                }
            }

            impl ClassifiedWorker<u64> for Labelled {
                #[inline]
                fn is_work(&self) -> bool {
                    !self.worker.is_dead
                }

                #[inline]
                fn is_valid(&self, class: u64) -> bool {
                    self.label == class
                }

                #[inline]
                fn classification(&self) -> u64 {
                    self.label
                }
            }

            #[async_trait]
            impl ClassifiedWorkerFactory<u64, Labelled> for Factory {
                async fn create(&self, class: Option<u64>) -> PoolResult<Labelled> {
                    Ok(Labelled { label: class.unwrap_or(0), worker: self.0.make().await })
                }
            }

            #[derive(Clone)]
            pub struct Classified(ClassifiedWorkerPoolRef<u64, Labelled, Factory>);

            impl Contender for Classified {
                const NAME: &'static str = $name;

                type Guard = ClassifiedWorkerGuard<u64, Labelled, Factory>;
                type Error = PoolError;

                fn new(setup: &Setup) -> Self {
                    let limits = ClassifiedWorkerPoolConfig {
                        max_count: Some(setup.max_count),
                        idle_timeout: setup.idle_timeout,
                        max_count_per_classification: None,
                    };
                    Self(ClassifiedWorkerPool::new(Factory(setup.maker.clone()), limits))
                }

                fn discard(mut guard: Self::Guard) {
                    guard.worker.is_dead = true;
                }
            }

            impl crate::contenders::Classified for Classified {
                #[inline]
                fn get(&self, class: u64) -> impl Future<Output = PoolResult<Self::Guard>> + Send {
                    self.0.get_classified_worker(class)
                }
            }
        }
    };
}

contender!(ours, sfo_pool, crate::contenders::OURS);
contender!(published, published, crate::contenders::PUBLISHED);
