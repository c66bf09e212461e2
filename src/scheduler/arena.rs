use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::ops;

/// The name of something in an [`Arena`]. An `Option` of it takes no more than its four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Index(NonZeroU32);

impl Index {
    #[inline]
    fn new(position: usize) -> Self {
        let number = u32::try_from(position + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than four billion of a kind at a time"))
    }

    #[inline]
    fn position(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Holds things that are named by an index for as long as they are there.
///
/// What takes a place takes the first that is free, and free places at the end are given back: so
/// the room follows what is in use, where other slabs keep what a crowd once needed.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Arena<T> {
    places: Vec<Option<T>>,
    /// Of free places; some may lie beyond the end by now.
    free: BinaryHeap<Reverse<Index>>,
    len: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Arena<T> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: BinaryHeap::new(), len: 0 }
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where [`insert`](Self::insert) will put the next.
    #[inline]
    pub(super) fn next(&self) -> Index {
        match self.free.peek() {
            Some(&Reverse(index)) if index.position() < self.places.len() => index,
            _ => Index::new(self.places.len()),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Index {
        let index = self.next();
        if index.position() < self.places.len() {
            self.free.pop();
            self.places[index.position()] = Some(value);
        } else {
            // The first that is free lies beyond the end, and so do all.
            self.free.clear();
            if self.places.capacity() == 0 {
                // Many pools have one bucket for good.
                self.places.reserve_exact(1);
            }
            self.places.push(Some(value));
        }
        self.len += 1;
        index
    }

    #[inline]
    pub(super) fn remove(&mut self, index: Index) -> Option<T> {
        let value = self.places.get_mut(index.position())?.take()?;
        self.len -= 1;
        if index.position() + 1 < self.places.len() {
            self.free.push(Reverse(index));
        } else {
            self.give_back();
        }
        Some(value)
    }

    fn give_back(&mut self) {
        while let Some(None) = self.places.last() {
            self.places.pop();
        }
        if is_sparse(self.places.len(), self.places.capacity()) {
            self.places.shrink_to(self.places.len() * 2);
        }
        if is_sparse(self.places.len(), self.free.capacity()) {
            let len = self.places.len();
            self.free.retain(|Reverse(index)| index.position() < len);
            self.free.shrink_to(len * 2);
        }
    }

    /// How many places there is room for, or is remembered as free.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.places.capacity().max(self.free.capacity())
    }

    #[inline]
    pub(super) fn get(&self, index: Index) -> Option<&T> {
        self.places.get(index.position())?.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }
}

const HELD: &str = "whoever holds an index keeps what it names in being";

impl<T> ops::Index<Index> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: Index) -> &T {
        self.places[index.position()].as_ref().expect(HELD)
    }
}

impl<T> ops::IndexMut<Index> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, index: Index) -> &mut T {
        self.places[index.position()].as_mut().expect(HELD)
    }
}

/// Whether a collection keeps far more room than it needs: a crowd has gone, and must not keep it.
/// A small one is not worth shrinking.
pub(super) fn is_sparse(len: usize, capacity: usize) -> bool {
    capacity > 32 && len < capacity / 8
}
