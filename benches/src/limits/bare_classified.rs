use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use slab::Slab;

use super::chain::{Chain, Links};
use crate::contenders::{Classified, Contender};
use crate::worker::{Setup, Worker};

/// LC: idle workers in a slab, with a list for each class and one of all by age; a worker serves
/// its own class alone, the least recently used makes way, and nobody can wait.
#[derive(Clone)]
pub struct BareClassified(Arc<Shared>);

struct Shared {
    setup: Setup,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Slab<Idle>,
    by_age: Chain,
    by_class: HashMap<u64, Chain>,
    count: u16,
}

struct Idle {
    worker: Worker,
    class: u64,
    by_age: Links,
    by_class: Links,
}

impl State {
    #[inline]
    fn take(&mut self, class: u64) -> Option<Worker> {
        let newest = self.by_class.get(&class)?.newest()?;
        Some(self.remove(newest))
    }

    /// Takes up a slot; the worker that it was taken from, if any, is returned.
    fn make_room(&mut self, max_count: u16) -> Option<Worker> {
        if self.count < max_count {
            self.count += 1;
            return None;
        }
        let oldest = self.by_age.oldest()?;
        Some(self.remove(oldest))
    }

    #[inline]
    fn put(&mut self, worker: Worker, class: u64) {
        let (by_age, by_class) = (Links::default(), Links::default());
        let node = self.idle.insert(Idle { worker, class, by_age, by_class });
        self.by_age.push(&mut self.idle, |idle| &mut idle.by_age, node);
        let of_class = self.by_class.entry(class).or_default();
        of_class.push(&mut self.idle, |idle| &mut idle.by_class, node);
    }

    #[inline]
    fn remove(&mut self, node: usize) -> Worker {
        self.by_age.unlink(&mut self.idle, |idle| &mut idle.by_age, node);
        let class = self.idle[node].class;
        let of_class = self.by_class.entry(class).or_default();
        of_class.unlink(&mut self.idle, |idle| &mut idle.by_class, node);
        self.idle.remove(node).worker
    }
}

pub struct Guard(Option<(Worker, u64, Arc<Shared>)>);

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some((worker, class, shared)) = self.0.take() {
            shared.state.lock().unwrap_or_else(PoisonError::into_inner).put(worker, class);
        }
    }
}

impl Contender for BareClassified {
    const NAME: &'static str = "LC";

    type Guard = Guard;
    type Error = Infallible;

    fn new(setup: &Setup) -> Self {
        Self(Arc::new(Shared { setup: setup.clone(), state: Mutex::default() }))
    }

    fn discard(mut guard: Guard) {
        if let Some((_, _, shared)) = guard.0.take() {
            shared.state.lock().unwrap_or_else(PoisonError::into_inner).count -= 1;
        }
    }
}

impl Classified for BareClassified {
    #[inline]
    async fn get(&self, class: u64) -> Result<Guard, Infallible> {
        let (idle, _evicted) = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.take(class) {
                Some(worker) => (Some(worker), None),
                None => (None, state.make_room(self.0.setup.max_count)),
            }
        };
        let worker = match idle {
            Some(worker) => worker,
            None => self.0.setup.maker.make().await,
        };
        Ok(Guard(Some((worker, class, Arc::clone(&self.0)))))
    }
}
