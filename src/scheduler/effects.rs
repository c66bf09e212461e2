use std::mem;

use super::{Slot, WaiterId};

/// What an event asks its caller to do once the lock is released.
///
/// Most events have nothing to ask for, and most others one thing: neither allocates.
#[derive(Debug)]
#[must_use]
pub(crate) enum Effects<K, V, B> {
    None,
    One(Effect<K, V, B>),
    Many(Vec<Effect<K, V, B>>),
}

/// Bells ring first; whatever runs a destructor comes after.
#[derive(Debug)]
pub(crate) enum Effect<K, V, B> {
    /// A request or a clear has something to collect.
    Ring(B),
    /// A worker leaves the pool. It keeps its slot until [`Scheduler::free`] is told.
    ///
    /// [`Scheduler::free`]: super::Scheduler::free
    Destroy(Doomed<V>),
    /// The key of a bucket that is no more.
    DropKey(K),
}

/// A worker to destroy, its slot, and the request that its slot was cleared for.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Doomed<V> {
    pub(crate) value: V,
    pub(crate) slot: Slot,
    pub(crate) heir: Option<WaiterId>,
}

impl<K, V, B> Default for Effects<K, V, B> {
    #[inline]
    fn default() -> Self {
        Self::None
    }
}

impl<K, V, B> Effects<K, V, B> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Takes all of them, in the order in which they came up.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Effect<K, V, B>)) {
        match mem::take(self) {
            Self::None => {}
            Self::One(effect) => each(effect),
            Self::Many(effects) => effects.into_iter().for_each(each),
        }
    }

    /// Takes the bells alone.
    pub(crate) fn drain_bells(&mut self, mut each: impl FnMut(B)) {
        // By far the most frequent.
        if let Self::One(_) = self {
            return match mem::take(self) {
                Self::One(Effect::Ring(bell)) => each(bell),
                other => *self = other,
            };
        }
        let mut rest = Self::None;
        self.drain(|effect| match effect {
            Effect::Ring(bell) => each(bell),
            destructor => rest.push(destructor),
        });
        *self = rest;
    }

    pub(crate) fn doom(&mut self, value: V, slot: Slot, heir: Option<WaiterId>) {
        self.push(Effect::Destroy(Doomed { value, slot, heir }));
    }

    pub(super) fn ring(&mut self, bells: impl IntoIterator<Item = B>) {
        bells.into_iter().for_each(|bell| self.push(Effect::Ring(bell)));
    }

    pub(super) fn drop_key(&mut self, key: K) {
        self.push(Effect::DropKey(key));
    }

    fn push(&mut self, effect: Effect<K, V, B>) {
        *self = match mem::take(self) {
            Self::None => Self::One(effect),
            Self::One(first) => Self::Many(vec![first, effect]),
            Self::Many(mut effects) => {
                effects.push(effect);
                Self::Many(effects)
            }
        };
    }
}
