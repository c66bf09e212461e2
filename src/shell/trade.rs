use std::hash::Hash;
use std::pin::Pin;

use super::Fragile;
use super::aftermath::Aftermath;
use crate::PoolResult;

/// What differs between the pools outside the scheduler: how a worker is made and what it is asked.
///
/// All of it is the user's code, and runs outside the lock but for [`serves`](Self::serves).
pub(crate) trait Trade: Send + Sync + 'static {
    /// The key of a bucket.
    type Key: Hash + Eq + Clone + Send + 'static;
    type Worker: Send + 'static;

    /// Makes a worker for `key`, or for any, and checks that it is what was asked for.
    fn create(&self, key: Option<Self::Key>)
    -> impl Future<Output = PoolResult<Unit<Self>>> + Send;

    /// Resets and verifies an idle worker before its next use.
    fn recycle(&self, unit: &mut Unit<Self>) -> impl Future<Output = PoolResult<()>> + Send;

    /// Ends a worker in its own time.
    fn destroy(&self, unit: Unit<Self>) -> impl Future<Output = ()> + Send;

    /// What a key is called.
    fn label(&self, key: &Self::Key) -> Option<String>;

    /// Whether the worker works and still is what it was when it was created.
    fn is_well(unit: &Unit<Self>) -> bool;

    /// Whether a worker of another bucket could serve `key` as well. Called under the lock.
    fn serves(unit: &Unit<Self>, key: &Self::Key) -> bool;
}

/// A worker and the key under which it was filed when it was created.
pub(crate) type Unit<T> = Filed<<T as Trade>::Key, <T as Trade>::Worker>;

#[derive(Debug)]
pub(crate) struct Filed<K, W> {
    pub(crate) worker: W,
    pub(crate) key: K,
}

impl<K, W> Filed<K, W> {
    /// Drops both, even if both panic.
    pub(super) fn destroy(self, aftermath: &mut Aftermath) {
        let Self { worker, key } = self;
        aftermath.run(|| drop(worker));
        aftermath.run(|| drop(key));
    }
}

/// Files a new worker under the key that it names, if that is the one asked for and it serves it.
///
/// The messages say what is wrong with the worker.
pub(crate) fn file<K: Clone + Eq, W>(
    worker: Fragile<W>,
    key: K,
    asked: Option<Fragile<K>>,
    serves: impl FnOnce(&W, K) -> bool,
    mismatched: &'static str,
    denied: &'static str,
) -> PoolResult<Filed<K, W>> {
    let key = Fragile::new(key);
    if asked.is_some_and(|asked| *asked != *key) {
        return Err(crate::error::invalid_config(mismatched));
    }
    if !serves(&worker, K::clone(&key)) {
        return Err(crate::error::invalid_config(denied));
    }
    Ok(Filed { worker: worker.into_inner(), key: key.into_inner() })
}

/// Awaits a call of the factory's, whose future's destructor may panic as well.
pub(crate) async fn finished<R>(call: Pin<Box<dyn Future<Output = R> + Send + '_>>) -> R {
    let mut call = Fragile::new(call);
    let finished = call.as_mut().await;
    drop(call);
    finished
}

/// Awaits the factory's future, which is the user's as well: its destructor may panic, and must
/// neither lose the worker that it made nor abort.
pub(crate) async fn made<W>(
    creation: Pin<Box<dyn Future<Output = PoolResult<W>> + Send + '_>>,
) -> PoolResult<Fragile<W>> {
    let mut creation = Fragile::new(creation);
    let made = creation.as_mut().await.map(Fragile::new);
    drop(creation);
    made
}
