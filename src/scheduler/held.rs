//! Who holds what, where somebody wants to know.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use super::record::Entry;
use super::{Effects, Scheduler, Slot};

/// A worker that is out.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) id: u64,
    /// What its key is called.
    pub(crate) key: Option<Arc<str>>,
    /// When it was lent.
    pub(crate) since: u64,
    /// Where in the source it was asked for.
    pub(crate) place: &'static Location<'static>,
    /// What its holder calls itself.
    pub(crate) label: Option<Cow<'static, str>>,
    /// Somebody was told that it has been out for too long.
    pub(crate) is_overdue: bool,
}

/// What a record keeps of it.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    place: &'static Location<'static>,
    label: Option<Cow<'static, str>>,
    is_overdue: bool,
}

impl<K, V, B> Scheduler<K, V, B> {
    /// The number of the worker in this slot, and what its key is called.
    pub(crate) fn name(&self, slot: &Slot) -> Option<(u64, Option<Arc<str>>)> {
        let entry = self.records.entry(slot.record?);
        Some((entry.record.id, entry.key.clone()))
    }

    /// A request that was made there has the worker in this slot.
    pub(crate) fn hold(
        &mut self,
        slot: &Slot,
        place: &'static Location<'static>,
        effects: &mut Effects<K, V, B>,
    ) -> Option<Held> {
        let entry = self.records.entry_mut(slot.record?);
        entry.hold = Some(Hold { place, label: None, is_overdue: false });
        let (held, due) =
            (entry.held(), self.rules.hold_limit.and_then(|limit| entry.overdue_at(limit)));
        self.alert_of_hold(due, effects);
        held
    }

    /// The worker in this slot comes back.
    pub(crate) fn let_go(&mut self, slot: &Slot) -> Option<Held> {
        let entry = self.records.entry_mut(slot.record?);
        let held = entry.held();
        entry.hold = None;
        held
    }

    /// Returns the label of before.
    pub(crate) fn set_label(
        &mut self,
        slot: &Slot,
        label: Cow<'static, str>,
    ) -> Option<Cow<'static, str>> {
        let hold = self.records.entry_mut(slot.record?).hold.as_mut()?;
        hold.label.replace(label)
    }

    pub(crate) fn held(&self) -> Vec<Held> {
        self.records.entries().filter_map(|entry| entry.held()).collect()
    }

    /// Finds those that have been out for too long by now, each once.
    pub(crate) fn find_overdue(&mut self, now: u64) -> Vec<Held> {
        let Some(limit) = self.rules.hold_limit else { return Vec::new() };
        let is_late = |entry: &&mut Entry| entry.overdue_at(limit).is_some_and(|due| due <= now);
        let late = self.records.entries_mut().filter(is_late);
        let found = late.filter_map(|entry| {
            entry.hold.as_mut()?.is_overdue = true;
            entry.held()
        });
        found.collect()
    }

    /// When the next one will have been out for too long.
    pub(super) fn next_overdue(&self) -> Option<u64> {
        let limit = self.rules.hold_limit?;
        self.records.entries().filter_map(|entry| entry.overdue_at(limit)).min()
    }
}

impl Entry {
    pub(super) fn held(&self) -> Option<Held> {
        let Hold { place, label, is_overdue } = self.hold.clone()?;
        let (id, since) = (self.record.id, self.record.lent);
        Some(Held { id, key: self.key.clone(), since, place, label, is_overdue })
    }

    /// When it will have been out for too long, if it is out and nobody was told so yet.
    fn overdue_at(&self, limit: u64) -> Option<u64> {
        self.hold.as_ref().filter(|hold| !hold.is_overdue)?;
        Some(self.record.lent.saturating_add(limit))
    }
}
