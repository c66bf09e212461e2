use std::iter;
use std::ops;

use super::arena::Arena;
use super::{Index, Ticket, Waiter, WaiterId};

/// The queued requests of a lane, the oldest first. They are linked to each other.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Line {
    oldest: Option<Index>,
    youngest: Option<Index>,
    len: u32,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    /// Forgets all of them, who know each other still.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// All requests that wait, or have not collected what they were given.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Waiters<B> {
    all: Arena<Waiter<B>>,
    /// How many of them stand in a line.
    queued: usize,
}

impl<B> Waiters<B> {
    pub(super) fn new() -> Self {
        Self { all: Arena::new(), queued: 0 }
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// All lines have been cleared.
    pub(super) fn forget_lines(&mut self) {
        self.queued = 0;
    }

    pub(super) fn get(&self, id: WaiterId) -> Option<&Waiter<B>> {
        self.all.get(id.index).filter(|waiter| waiter.ticket == id.ticket)
    }

    pub(super) fn remove(&mut self, id: WaiterId) -> Option<Waiter<B>> {
        self.get(id)?;
        self.all.remove(id.index)
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiter<B>> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiter<B>> {
        self.all.iter_mut()
    }

    /// The oldest in a line.
    #[inline]
    pub(super) fn first(&self, line: &Line) -> Option<WaiterId> {
        line.oldest.map(|index| self.id(index))
    }

    /// Those in a line, the oldest first.
    pub(super) fn in_line(&self, line: &Line) -> impl Iterator<Item = WaiterId> {
        let indexes = iter::successors(line.oldest, |&index| self.all[index].younger);
        indexes.map(|index| self.id(index))
    }

    fn id(&self, index: Index) -> WaiterId {
        WaiterId { ticket: self.all[index].ticket, index }
    }

    /// Lines a waiter up, by its ticket. A new one goes to the end; one that comes back walks past
    /// others that came back, from whichever end is nearer.
    pub(super) fn line_up(&mut self, line: &mut Line, waiter: Waiter<B>) -> WaiterId {
        let ticket = waiter.ticket;
        let older = self.last_before(line, ticket);
        let index = self.all.insert(waiter);
        let younger = older.map_or(line.oldest, |older| self.all[older].younger);
        self.link(line, older, Some(index));
        self.link(line, Some(index), younger);
        line.len += 1;
        self.queued += 1;
        WaiterId { ticket, index }
    }

    /// Looks from both ends at once.
    fn last_before(&self, line: &Line, ticket: Ticket) -> Option<Index> {
        let is_older = |&index: &Index| self.all[index].ticket < ticket;
        let mut old = line.oldest.filter(is_older)?;
        let mut young = line.youngest?;
        loop {
            if is_older(&young) {
                return Some(young);
            }
            match self.all[old].younger.filter(is_older) {
                Some(next) => old = next,
                None => return Some(old),
            }
            young = self.all[young].older?;
        }
    }

    /// Takes a waiter out of the line in which it stands.
    pub(super) fn step_out(&mut self, line: &mut Line, id: WaiterId) {
        let Waiter { older, younger, .. } = self[id];
        self.link(line, older, younger);
        line.len -= 1;
        self.queued -= 1;
    }

    /// Makes two neighbours; `None` stands for the end of the line.
    fn link(&mut self, line: &mut Line, older: Option<Index>, younger: Option<Index>) {
        match older {
            Some(older) => self.all[older].younger = younger,
            None => line.oldest = younger,
        }
        match younger {
            Some(younger) => self.all[younger].older = older,
            None => line.youngest = older,
        }
    }
}

const IN_LINE: &str = "who stands in a line waits";

impl<B> ops::Index<WaiterId> for Waiters<B> {
    type Output = Waiter<B>;

    fn index(&self, id: WaiterId) -> &Waiter<B> {
        self.get(id).expect(IN_LINE)
    }
}

impl<B> ops::IndexMut<WaiterId> for Waiters<B> {
    fn index_mut(&mut self, id: WaiterId) -> &mut Waiter<B> {
        let waiter = &mut self.all[id.index];
        assert_eq!(waiter.ticket, id.ticket, "{IN_LINE}");
        waiter
    }
}
