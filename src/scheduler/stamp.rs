use crate::PoolDestroyReason;

/// The generation and the stage of a slot, and why its worker goes, in one word, so that a slot is
/// moved in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

/// How far a slot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Given to a request that has not collected it, where it will not create by itself.
    Granted,
    Creating,
    /// A creation that has failed.
    Failed,
    /// A creation that did not begin, or whose worker was not welcome.
    Vain,
    /// Created apart from any request, and not given to anybody yet.
    New,
    Live,
    /// Given up by the scheduler itself, to be destroyed.
    Leaving,
}

impl Stage {
    /// Whether there is no worker of the pool's in the slot.
    #[inline]
    pub(super) fn is_creation(self) -> bool {
        matches!(self, Self::Granted | Self::Creating | Self::Failed | Self::Vain)
    }
}

const STAGE_BITS: u32 = 3;
const REASON_BITS: u32 = 4;
const LOWER_BITS: u32 = STAGE_BITS + REASON_BITS;

impl Stamp {
    /// For a worker of whose end nothing is known, which is that of one that is not well.
    #[inline]
    pub(super) fn new(generation: u64, stage: Stage) -> Self {
        Self(generation << LOWER_BITS | stage as u64)
    }

    #[inline]
    pub(super) fn because(self, reason: PoolDestroyReason) -> Self {
        let others = self.0 & !(((1 << REASON_BITS) - 1) << STAGE_BITS);
        Self(others | (reason as u64) << STAGE_BITS)
    }

    #[inline]
    pub(super) fn generation(self) -> u64 {
        self.0 >> LOWER_BITS
    }

    #[inline]
    pub(super) fn stage(self) -> Stage {
        match self.0 & ((1 << STAGE_BITS) - 1) {
            0 => Stage::Granted,
            1 => Stage::Creating,
            2 => Stage::Failed,
            3 => Stage::Vain,
            4 => Stage::New,
            5 => Stage::Live,
            _ => Stage::Leaving,
        }
    }

    pub(super) fn reason(self) -> PoolDestroyReason {
        let number = self.0 >> STAGE_BITS & ((1 << REASON_BITS) - 1);
        let reason = PoolDestroyReason::ALL.get(number as usize);
        reason.copied().unwrap_or_default()
    }
}

#[cfg(test)]
#[test]
fn a_stamp_says_what_it_was_made_of() {
    use Stage::{Creating, Failed, Granted, Leaving, Live, New, Vain};
    for stage in [Granted, Creating, Failed, Vain, New, Live, Leaving] {
        for generation in [0, 1, u64::MAX >> LOWER_BITS] {
            let stamp = Stamp::new(generation, stage);
            let made = (stamp.generation(), stamp.stage(), stamp.reason());
            assert_eq!(made, (generation, stage, PoolDestroyReason::default()));
            for &reason in PoolDestroyReason::ALL {
                let stamp = stamp.because(PoolDestroyReason::Invalidated).because(reason);
                let made = (stamp.generation(), stamp.stage(), stamp.reason());
                assert_eq!(made, (generation, stage, reason));
            }
        }
    }
}
