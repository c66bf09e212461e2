use std::num::NonZeroU32;

/// An index into a slab, in four bytes, of which an `Option` takes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compact(NonZeroU32);

impl Compact {
    #[inline]
    pub(super) fn new(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than four billion of a kind at a time"))
    }

    #[inline]
    pub(super) fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}
