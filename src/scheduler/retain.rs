//! Taking idle workers out, to be asked outside the lock, and putting them back where they were.

use super::bucket::Idle;
use super::{Effects, ReturnPlan, Scheduler, Slot};
use crate::PoolDestroyReason as Reason;

/// A worker that was idle, and its place among the others.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Taken<V> {
    pub(crate) value: V,
    pub(crate) slot: Slot,
    pub(super) since: u64,
    pub(super) order: Option<u64>,
}

impl<K: Eq, V, B> Scheduler<K, V, B> {
    /// Takes every idle worker out.
    pub(crate) fn take_all(&mut self) -> Vec<Taken<V>> {
        let mut all = Vec::new();
        for bucket in self.buckets.ids() {
            while let Some(oldest) = self.buckets[bucket].idle.front() {
                let (since, place) = (oldest.since, oldest.place);
                let order = place.and_then(|it| self.recency.as_ref().map(|all| all.order(it)));
                let Idle { value, record, .. } = self.take_idle(bucket, 0);
                let slot = self.live_slot(bucket, record);
                all.push(Taken { value, slot, since, order });
            }
        }
        self.asked += all.len();
        all
    }

    /// So many of those that were taken out have been asked, and were given back or are destroyed.
    pub(crate) fn have_been_asked(&mut self, count: usize, effects: &mut Effects<K, V, B>) {
        self.asked -= count;
        self.alert(effects);
    }

    /// Carries the plan out for a worker that comes back unused; an idle one has its place again, if
    /// those that are newer have theirs. One that has expired is not handed out.
    pub(crate) fn restore(
        &mut self,
        plan: ReturnPlan,
        taken: Taken<V>,
        now: u64,
        effects: &mut Effects<K, V, B>,
    ) {
        let now = self.advance(now);
        let Taken { value, slot, since, order } = taken;
        let bucket = match plan {
            ReturnPlan::Keep(bucket) => bucket,
            ReturnPlan::Hand { .. } if self.has_expired(since, now) => {
                return self.commit_return(
                    ReturnPlan::Destroy(Reason::Idle),
                    slot,
                    value,
                    now,
                    effects,
                );
            }
            plan => return self.commit_return(plan, slot, value, now, effects),
        };
        self.idle += 1;
        let record = slot.record;
        let place =
            self.recency.as_mut().zip(order).map(|(recency, order)| recency.restore(bucket, order));
        let home = &mut self.buckets[bucket];
        let index = match (&self.recency, place) {
            (Some(recency), Some(place)) => home.idle.partition_point(|other| {
                other.place.is_some_and(|other| recency.is_older(other, place))
            }),
            _ => home.idle.partition_point(|other| other.since < since),
        };
        home.insert_idle(index, Idle { value, since, place, record });
        self.kept(bucket, record, effects);
    }
}
