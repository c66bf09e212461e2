/// The generation and the stage of a slot, in one word, so that a slot is moved in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

/// How far a slot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Given to a request that has not collected it, where it will not create by itself.
    Granted,
    Creating,
    /// Created apart from any request, and not given to anybody yet.
    New,
    Live,
    /// Given up by the scheduler itself, to be destroyed.
    Leaving,
}

const STAGE_BITS: u32 = 3;

impl Stamp {
    #[inline]
    pub(super) fn new(generation: u64, stage: Stage) -> Self {
        Self(generation << STAGE_BITS | stage as u64)
    }

    #[inline]
    pub(super) fn generation(self) -> u64 {
        self.0 >> STAGE_BITS
    }

    #[inline]
    pub(super) fn stage(self) -> Stage {
        match self.0 & ((1 << STAGE_BITS) - 1) {
            0 => Stage::Granted,
            1 => Stage::Creating,
            2 => Stage::New,
            3 => Stage::Live,
            _ => Stage::Leaving,
        }
    }
}

#[cfg(test)]
#[test]
fn a_stamp_says_what_it_was_made_of() {
    for stage in [Stage::Granted, Stage::Creating, Stage::New, Stage::Live, Stage::Leaving] {
        for generation in [0, 1, u64::MAX >> STAGE_BITS] {
            let stamp = Stamp::new(generation, stage);
            assert_eq!((stamp.generation(), stamp.stage()), (generation, stage));
        }
    }
}
