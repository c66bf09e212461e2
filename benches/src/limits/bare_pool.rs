use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use slab::Slab;

use super::chain::{Chain, Links};
use crate::contenders::{Contender, Plain};
use crate::worker::{Setup, Worker};

/// L5s: a pool that looks at its idle workers first and else hands what is freed to the oldest
/// waiter.
#[derive(Clone)]
pub struct BarePool(Arc<Shared>);

struct Shared {
    setup: Setup,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    count: u16,
    line: Chain,
    waiters: Slab<Waiter>,
}

struct Waiter {
    links: Links,
    waker: Waker,
    granted: Option<Unit>,
}

enum Unit {
    Worker(Worker),
    Slot,
}

impl Shared {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn release(&self, unit: Unit) {
        let waker = self.lock().grant(unit);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl State {
    #[inline]
    fn grant(&mut self, unit: Unit) -> Option<Waker> {
        if let Some(oldest) = self.line.oldest() {
            self.line.unlink(&mut self.waiters, |waiter| &mut waiter.links, oldest);
            let waiter = &mut self.waiters[oldest];
            waiter.granted = Some(unit);
            return Some(waiter.waker.clone());
        }
        match unit {
            Unit::Worker(worker) => self.idle.push(worker),
            Unit::Slot => self.count -= 1,
        }
        None
    }

    fn leave(&mut self, ticket: usize) -> Option<Unit> {
        let waiter = self.waiters.remove(ticket);
        if self.waiters.is_empty() && self.waiters.capacity() > 1_000 {
            self.waiters = Slab::new();
        }
        waiter.granted
    }
}

/// A request; the ticket is its place among the waiters.
struct Request<'a> {
    shared: &'a Shared,
    ticket: Option<usize>,
}

impl Future for Request<'_> {
    type Output = Unit;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Unit> {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        let Some(ticket) = self.ticket else {
            if let Some(worker) = state.idle.pop() {
                return Poll::Ready(Unit::Worker(worker));
            }
            if state.count < self.shared.setup.max_count {
                state.count += 1;
                return Poll::Ready(Unit::Slot);
            }
            let waker = context.waker().clone();
            let waiter = Waiter { links: Links::default(), waker, granted: None };
            let ticket = state.waiters.insert(waiter);
            state.line.push(&mut state.waiters, |waiter| &mut waiter.links, ticket);
            drop(guard);
            self.ticket = Some(ticket);
            return Poll::Pending;
        };
        let waiter = &mut state.waiters[ticket];
        if waiter.granted.is_none() {
            waiter.waker.clone_from(context.waker());
            return Poll::Pending;
        }
        let granted = state.leave(ticket).expect("it was seen above");
        drop(guard);
        self.ticket = None;
        Poll::Ready(granted)
    }
}

impl Drop for Request<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        if state.waiters[ticket].granted.is_none() {
            state.line.unlink(&mut state.waiters, |waiter| &mut waiter.links, ticket);
        }
        let granted = state.leave(ticket);
        drop(guard);
        if let Some(unit) = granted {
            self.shared.release(unit);
        }
    }
}

/// Two words: worker and pool share the pointer's niche.
pub struct Guard(Option<(Worker, Arc<Shared>)>);

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some((worker, shared)) = self.0.take() {
            shared.release(Unit::Worker(worker));
        }
    }
}

impl Contender for BarePool {
    const NAME: &'static str = "L5s";

    type Guard = Guard;
    type Error = Infallible;

    fn new(setup: &Setup) -> Self {
        Self(Arc::new(Shared { setup: setup.clone(), state: Mutex::default() }))
    }

    fn discard(mut guard: Guard) {
        if let Some((_, shared)) = guard.0.take() {
            shared.release(Unit::Slot);
        }
    }
}

impl Plain for BarePool {
    #[inline]
    async fn get(&self) -> Result<Guard, Infallible> {
        let worker = match (Request { shared: &self.0, ticket: None }).await {
            Unit::Worker(worker) => worker,
            Unit::Slot => self.0.setup.maker.make().await,
        };
        Ok(Guard(Some((worker, Arc::clone(&self.0)))))
    }
}

const _: () = assert!(size_of::<Guard>() == 2 * size_of::<usize>());
