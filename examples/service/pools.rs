use std::sync::Arc;
use std::time::Duration;

use sfo_pool::{
    ClassifiedWorkerPool, ClassifiedWorkerPoolConfig, ClassifiedWorkerPoolRef, KeyedWorkerPool,
    KeyedWorkerPoolConfig, KeyedWorkerPoolRef, PoolMetrics, PoolOptions, PoolTracing, WorkerPool,
    WorkerPoolConfig, WorkerPoolRef,
};

use crate::backend::Backend;
use crate::connection::{Connection, Connector};
use crate::phase::Plan;

/// The key of the keyed pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    East,
    West,
    North,
}

/// The class of the classified pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    Small,
    Medium,
    Large,
}

pub struct Pools {
    pub general: WorkerPoolRef<Connection, Connector>,
    pub keyed: KeyedWorkerPoolRef<Region, Connection, Connector>,
    pub classified: ClassifiedWorkerPoolRef<Size, Connection, Connector>,
}

impl Pools {
    pub fn new(backend: &Backend, plan: &Plan) -> Self {
        let connector = || Connector(backend.address);
        let options = |name| {
            PoolOptions::default()
                .with_name(name)
                .with_observer(Arc::new(PoolMetrics::new()))
                .with_observer(Arc::new(PoolTracing::new()))
                .with_acquire_timeout(Some(Duration::from_millis(500)))
                .with_max_waiting_count(Some(100))
                .with_max_lifetime(Some(plan.unit() * 15))
                .with_leak_threshold(Some(plan.unit() * 3))
                .with_maintenance(true)
        };
        let idle_timeout = Some(plan.unit() * 4);
        Self {
            general: WorkerPool::new_with_options(
                connector(),
                WorkerPoolConfig::default()
                    .with_max_count(Some(12))
                    .with_idle_timeout(idle_timeout),
                options("general").with_min_idle_count(2),
            ),
            keyed: KeyedWorkerPool::new_with_options(
                connector(),
                KeyedWorkerPoolConfig::default()
                    .with_max_count_per_key(Some(4))
                    .with_idle_timeout(idle_timeout),
                options("keyed"),
            ),
            classified: ClassifiedWorkerPool::new_with_options(
                connector(),
                ClassifiedWorkerPoolConfig::default()
                    .with_max_count(Some(8))
                    .with_idle_timeout(idle_timeout),
                options("classified"),
            ),
        }
    }
}
