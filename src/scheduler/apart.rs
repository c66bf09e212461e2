//! Creations that go on apart from the requests for which they were begun: such a request keeps its
//! place, and takes whichever worker comes first. There are never more of them than requests that wait.

use super::{BucketId, Scheduler, Slot, Stage};

impl<K, V, B> Scheduler<K, V, B> {
    /// A creation begins in a slot that was granted.
    pub(super) fn begin_creation(&mut self, slot: &mut Slot) {
        if slot.stage() == Stage::Granted {
            slot.set_stage(Stage::Creating);
            self.count_apart(slot, true);
        }
    }

    /// Forgets the creation in a slot, if there is one.
    pub(super) fn end_creation(&mut self, slot: &mut Slot) -> bool {
        let stage = slot.stage();
        let has_begun = stage.is_creation() && stage != Stage::Granted;
        if has_begun && self.rules.creates_apart {
            self.count_apart(slot, false);
        }
        stage.is_creation()
    }

    /// How many creations go on in a bucket or, where buckets share a target, in all.
    pub(super) fn apart_around(&self, bucket: Option<BucketId>) -> usize {
        match (&self.commons, bucket) {
            (Some(_), _) => self.apart,
            (None, Some(id)) => self.buckets[id].apart,
            (None, None) => 0,
        }
    }

    /// Counts creations that go on, on which the indexes over the lanes depend.
    fn count_apart(&mut self, slot: &Slot, begins: bool) {
        let count = |apart: &mut usize| *apart = if begins { *apart + 1 } else { *apart - 1 };
        count(&mut self.apart);
        match slot.bucket {
            Some(id) => self.change(id, |bucket, _| count(&mut bucket.apart)),
            None => {
                if let Some(commons) = &mut self.commons {
                    commons.change_anyone(&mut self.waiters, |_, _| {});
                    count(&mut commons.apart);
                    commons.change_anyone(&mut self.waiters, |_, _| {});
                }
            }
        }
    }
}
