use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::contenders::{Contender, Keyed};
use crate::worker::{Maker, Setup, Worker};

/// LK2: the idle workers of each key behind a lock of their own; nobody can wait.
#[derive(Clone)]
pub struct BareKeyed(Arc<Shared>);

struct Shared {
    maker: Maker,
    keys: RwLock<HashMap<u64, Idle>>,
}

type Idle = Arc<Mutex<Vec<Worker>>>;

impl Shared {
    #[inline]
    fn idle_of(&self, key: u64) -> Idle {
        let idle = self.keys.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        idle.unwrap_or_else(|| {
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            keys.entry(key).or_default().clone()
        })
    }
}

pub struct Guard(Option<(Worker, Idle)>);

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some((worker, idle)) = self.0.take() {
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
    }
}

impl Contender for BareKeyed {
    const NAME: &'static str = "LK2";

    type Guard = Guard;
    type Error = Infallible;

    fn new(setup: &Setup) -> Self {
        Self(Arc::new(Shared { maker: setup.maker.clone(), keys: RwLock::default() }))
    }

    fn discard(mut guard: Guard) {
        guard.0 = None;
    }
}

impl Keyed for BareKeyed {
    #[inline]
    async fn get(&self, key: u64) -> Result<Guard, Infallible> {
        let idle = self.0.idle_of(key);
        let worker = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = match worker {
            Some(worker) => worker,
            None => self.0.maker.make().await,
        };
        Ok(Guard(Some((worker, idle))))
    }
}
