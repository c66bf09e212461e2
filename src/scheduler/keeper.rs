//! What there is to do when nobody asks for anything: expiry, and a few workers in reserve.

use super::{BucketId, Effects, Refusal, Scheduler, Slot, Wish};

/// Somebody rests until there is something to do.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Keeper<B> {
    bell: B,
    /// When it will wake up by itself; `u64::MAX` for never.
    alarm: u64,
    /// Whether it would create a worker for the reserve.
    creates: bool,
}

impl<K, V, B> Scheduler<K, V, B> {
    /// Lets the keeper rest. Its bell rings when there is something to do before the time that is
    /// returned, or room for a worker in reserve, if it `creates` one.
    pub(crate) fn rest(&mut self, bell: B, creates: bool) -> Option<u64> {
        if creates && self.lacks_reserve() {
            // Something has come up since it looked.
            return Some(0);
        }
        let due = [self.next_due(), self.next_overdue()].into_iter().flatten().min();
        self.is_elaborate = true;
        self.keeper = Some(Keeper { bell, alarm: due.unwrap_or(u64::MAX), creates });
        due
    }

    /// The keeper is awake.
    pub(crate) fn wake_keeper(&mut self) -> Option<B> {
        self.keeper.take().map(|keeper| keeper.bell)
    }

    /// Whether too few workers are idle, and there is room for one more.
    pub(crate) fn lacks_reserve(&self) -> bool {
        // Those that are asked whether they are to stay will be there again, or be missed then.
        self.idle + self.asked < self.rules.reserve && self.has_spare_room(self.buckets.sole())
    }

    /// Opens a slot for a worker in reserve.
    pub(crate) fn open_reserve(&mut self) -> Option<Slot> {
        self.lacks_reserve().then(|| self.open_own(self.buckets.sole()))
    }

    /// A slot for a creation that begins at once.
    fn open_own(&mut self, bucket: Option<BucketId>) -> Slot {
        let mut slot = self.open_slot(bucket);
        self.begin_creation(&mut slot);
        slot
    }

    /// Tells the keeper, if there is one that rests, when there is something to do.
    #[inline]
    pub(super) fn alert(&mut self, effects: &mut Effects<K, V, B>) {
        if self.keeper.is_some() {
            self.alert_keeper(effects);
        }
    }

    /// Tells the keeper, if there is one that rests longer, that something will be due by then.
    pub(super) fn alert_of_hold(&mut self, due: Option<u64>, effects: &mut Effects<K, V, B>) {
        let alarm = self.keeper.as_ref().map(|keeper| keeper.alarm);
        if due.zip(alarm).is_some_and(|(due, alarm)| due < alarm) {
            effects.ring(self.wake_keeper());
        }
    }

    #[cold]
    fn alert_keeper(&mut self, effects: &mut Effects<K, V, B>) {
        let is_due = |alarm| self.next_due().is_some_and(|due| due < alarm);
        let is_needed = self
            .keeper
            .as_ref()
            .is_some_and(|keeper| is_due(keeper.alarm) || (keeper.creates && self.lacks_reserve()));
        if is_needed {
            effects.ring(self.wake_keeper());
        }
    }

    /// When the first idle worker expires, or is too old.
    fn next_due(&self) -> Option<u64> {
        let first_end = self.records.first_end().map(|(end, ..)| end);
        let expiry = self.oldest_idle().zip(self.rules.idle_timeout);
        let expiry = expiry.map(|(since, timeout)| since.saturating_add(timeout));
        [first_end, expiry].into_iter().flatten().min()
    }

    fn oldest_idle(&self) -> Option<u64> {
        let bucket = match &self.recency {
            Some(recency) => recency.oldest(),
            None => self.buckets.sole(),
        };
        Some(self.buckets[bucket?].idle.front()?.since)
    }

    /// Whether a worker may be created that nobody has asked for: nobody waits, and nothing is full.
    fn has_spare_room(&self, bucket: Option<BucketId>) -> bool {
        let counts = self.counts_around(bucket);
        let may_rest = self.commons.is_some() || counts.idle < self.rules.bucket_idle_limit;
        self.shut.is_none()
            && counts.waiting == 0
            && may_rest
            && counts.total < counts.limit
            && counts.creating < self.rules.creation_limit
    }
}

impl<K: Eq, V, B> Scheduler<K, V, B> {
    /// Opens a slot for a worker that nobody has asked for, unless there are `count` already, in the
    /// bucket asked for or where buckets share a target in all of them.
    pub(crate) fn open_spare(
        &mut self,
        wish: Wish<'_, K>,
        count: usize,
        spare_key: &mut Option<K>,
    ) -> Result<Option<Slot>, Refusal> {
        self.check_open()?;
        let home = if self.commons.is_some() { None } else { self.home(wish) };
        if self.counts_around(home).total >= count || !self.has_spare_room(home) {
            return Ok(None);
        }
        let home = home.or_else(|| match wish {
            Wish::Of { hash, .. } if self.commons.is_none() => {
                let key = spare_key.take().expect("a new bucket is brought a key");
                Some(self.buckets.insert(hash, key))
            }
            _ => None,
        });
        Ok(Some(self.open_own(home)))
    }
}
