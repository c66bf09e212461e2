//! What may happen next in a world.

use super::world::{Wanted, World};
use crate::scheduler::Sharing;

/// Something that may happen next; an index is into the list that it is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Request(Wanted),
    /// It waits no longer than until time passes.
    HurriedRequest(Wanted),
    /// It takes an idle worker now or nothing.
    TryRequest(Wanted),
    IsWell(usize),
    IsDead(usize),
    Collect(usize),
    Cancel(usize),
    CreatedAs(usize, u32),
    CreationFails(usize),
    /// The keeper rests; it may want to create.
    Rest(bool),
    OpenReserve,
    /// Creates what nobody has asked for.
    OpenSpare(Wanted),
    /// One that goes on apart from its request.
    CreatedApart(usize, u32),
    FailsApart(usize),
    Return(usize),
    ReturnDead(usize),
    Destroyed(usize),
    Expire,
    TimePasses,
    Clear,
    AbandonClear(usize),
    EndClear(usize),
    Close,
    Invalidate,
    Resize(usize),
    /// Idle workers are taken out, to be asked.
    TakeAll,
    /// The last of them is to stay.
    Restore,
    /// The last of them is to go.
    Deny,
}

/// How much may happen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) classes: u32,
    /// How many requests may be under way at a time.
    pub(super) requests: usize,
    /// How many clears.
    pub(super) clears: usize,
    pub(super) extras: Extras,
}

/// What happens only where it is asked for, because each of it multiplies the states.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extras {
    /// Up to which limit the pool is resized.
    pub(super) sizes: usize,
    pub(super) invalidate: bool,
    pub(super) close: bool,
    pub(super) retain: bool,
    pub(super) deadlines: bool,
    pub(super) tries: bool,
    pub(super) keeper: bool,
    pub(super) spares: bool,
    /// How long a worker may live, if there is a limit.
    pub(super) span: Option<u64>,
}

impl Extras {
    #[cfg(test)]
    pub(super) fn all(sizes: usize) -> Self {
        let (invalidate, close, retain, deadlines, tries) = (true, true, true, true, true);
        let (keeper, spares, span) = (true, true, None);
        Self { sizes, invalidate, close, retain, deadlines, tries, keeper, spares, span }
    }
}

impl World {
    /// Everything that may happen next.
    pub(super) fn choices(&self, bounds: &Bounds) -> Vec<Choice> {
        let mut choices = Vec::new();
        self.choose_times(bounds, &mut choices);
        self.choose_operations(bounds, &mut choices);
        self.choose_requests(bounds, &mut choices);
        self.choose_spares(bounds, &mut choices);
        for (index, (request, _)) in self.creating.iter().enumerate() {
            choices.push(Choice::CreationFails(index));
            let classes = request.wanted.map_or(0..self.classes, |class| class..class + 1);
            choices.extend(classes.map(|class| Choice::CreatedAs(index, class)));
        }
        for (index, creation) in self.apart.iter().enumerate() {
            choices.push(Choice::FailsApart(index));
            let classes = creation.wanted.map_or(0..self.classes, |class| class..class + 1);
            choices.extend(classes.map(|class| Choice::CreatedApart(index, class)));
        }
        for index in 0..self.borrowed.len() {
            choices.extend([Choice::Return(index), Choice::ReturnDead(index)]);
        }
        choices.extend((0..self.doomed.len()).map(Choice::Destroyed));
        choices.extend((0..self.clears.len()).map(Choice::AbandonClear));
        choices.extend((0..self.told.len()).map(Choice::EndClear));
        choices
    }

    fn choose_times(&self, bounds: &Bounds, choices: &mut Vec<Choice>) {
        let expires = self.rules.idle_timeout.is_some() || self.span.is_some();
        if expires || bounds.extras.deadlines {
            choices.push(Choice::TimePasses);
        }
        choices.extend(expires.then_some(Choice::Expire));
    }

    fn choose_operations(&self, bounds: &Bounds, choices: &mut Vec<Choice>) {
        let Extras { sizes, invalidate, close, retain, .. } = bounds.extras;
        if self.clears.len() + self.told.len() < bounds.clears {
            choices.push(Choice::Clear);
            choices.extend((close && !self.is_closed).then_some(Choice::Close));
        }
        choices.extend(invalidate.then_some(Choice::Invalidate));
        let others = (1..=sizes).filter(|&size| size != self.limit());
        choices.extend(others.map(Choice::Resize));
        // What is taken out to be asked is not lacking, though it is not idle.
        let rests = self.keeper.is_some();
        if retain && !rests && self.taken.is_empty() && self.scheduler.idle > 0 {
            choices.push(Choice::TakeAll);
        }
        if !self.taken.is_empty() {
            choices.extend([Choice::Restore, Choice::Deny]);
        }
    }

    fn choose_spares(&self, bounds: &Bounds, choices: &mut Vec<Choice>) {
        let Extras { keeper, spares, .. } = bounds.extras;
        let is_creating = self.apart.iter().any(|creation| creation.by.is_none());
        if keeper && self.keeper.is_none() && self.taken.is_empty() {
            choices.push(Choice::Rest(false));
            if !is_creating {
                choices.push(Choice::Rest(true));
                let has_reserve = self.rules.sharing != Sharing::Apart;
                choices.extend(has_reserve.then_some(Choice::OpenReserve));
            }
        }
        if spares && !is_creating {
            let classes = if self.shares() { 0..0 } else { 0..self.classes };
            let any = self.shares().then_some(None);
            choices.extend(classes.map(Some).chain(any).map(Choice::OpenSpare));
        }
    }

    fn choose_requests(&self, bounds: &Bounds, choices: &mut Vec<Choice>) {
        if self.asked.len() + self.waiting.len() + self.creating.len() < bounds.requests {
            let any = self.shares().then_some(None);
            for wanted in (0..self.classes).map(Some).chain(any) {
                choices.push(Choice::Request(wanted));
                let Extras { deadlines, tries, .. } = bounds.extras;
                choices.extend(deadlines.then_some(Choice::HurriedRequest(wanted)));
                choices.extend(tries.then_some(Choice::TryRequest(wanted)));
            }
        }
        for index in 0..self.asked.len() {
            choices.extend([Choice::IsWell(index), Choice::IsDead(index)]);
        }
        for (index, request) in self.waiting.iter().enumerate() {
            choices.push(Choice::Cancel(index));
            choices.extend(request.is_rung.then_some(Choice::Collect(index)));
        }
    }
}
