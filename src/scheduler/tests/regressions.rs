//! Histories in which something went wrong once. Those about promises random ones seldom come to:
//! requests paid twice in some, or waited beside what they had been promised.

use super::choices::Choice::{
    AbandonClear, Cancel, Clear, Collect, CreatedAs, Destroyed, HurriedRequest, Request, Resize,
    Rest, Restore, Return, ReturnDead, TakeAll, TimePasses,
};
use super::steps::target;
use super::world::World;
use crate::scheduler::{Rules, Sharing, WaiterId};

impl World {
    /// For whom workers are being destroyed, as places in the line.
    fn heirs(&self) -> Vec<Option<usize>> {
        let place = |heir: WaiterId| self.waiting.iter().position(|it| it.ticket == heir.ticket);
        self.doomed.iter().map(|doomed| doomed.heir.and_then(place)).collect()
    }

    /// How many of them for the oldest request that waits.
    fn victims(&self) -> usize {
        self.heirs().iter().filter(|heir| **heir == Some(0)).count()
    }

    fn oldest_may_create(&self) -> bool {
        self.waiting[0].is_rung
    }
}

#[test]
fn one_request_costs_one_victim_while_another_destructor_is_under_way() {
    let mut world = World::with_borrowed(target(2), &[1, 3, 4]);
    world.then(Return(0));
    assert_eq!(world.doomed.len(), 1, "the first beyond the target");
    world.then(Return(0));
    world.then(Request(Some(6)));
    assert_eq!((world.doomed.len(), world.victims()), (2, 1));
    world.then(Return(0));

    world.then(Destroyed(1));
    assert_eq!((world.oldest_may_create(), world.victims()), (true, 0));
    assert_eq!(world.scheduler.counts().idle, 1);
}

#[test]
fn a_promised_slot_is_kept_although_a_younger_request_has_exceeded_the_target() {
    let mut world = World::with_borrowed(target(2), &[1, 3]);
    world.then(Return(1));
    world.then(Request(Some(1)));
    assert_eq!(world.victims(), 1);
    world.then(Request(Some(6)));
    world.create(6);

    world.then(Destroyed(0));
    assert!(world.oldest_may_create());
    world.then(Return(1));
    assert_eq!(world.victims(), 0);
}

#[test]
fn a_promise_does_not_stand_in_the_way_of_its_own_request() {
    let rules = Rules { creation_limit: 1, ..target(3) };
    let mut world = World::with_borrowed(rules, &[1, 3, 3]);
    world.then(Request(Some(1)));
    world.then(Return(1));
    assert_eq!(world.victims(), 1);

    world.then(ReturnDead(1));
    assert!(world.oldest_may_create());
}

#[test]
fn a_victim_is_for_the_oldest_without_a_promise_whoever_is_before_the_others_of_its_class() {
    let mut world = World::with_borrowed(target(3), &[1, 3, 4]);
    world.then(Return(1));
    world.then(Request(Some(1)));
    assert_eq!(world.heirs(), [Some(0)]);
    world.then(Request(Some(3)));
    world.then(Request(Some(1)));

    world.then(Return(1));
    assert_eq!(world.heirs(), [Some(0), Some(1)]);
}

#[test]
fn a_promise_makes_no_room_in_a_class_that_has_become_full() {
    let mut world = World::with_borrowed(Rules { bucket_limit: 1, ..target(2) }, &[3]);
    world.then(Request(None));
    world.then(Collect(0));
    world.then(Return(0));
    world.then(Request(Some(1)));
    assert_eq!(world.heirs(), [Some(0)]);
    world.then(Request(Some(6)));
    world.then(CreatedAs(0, 1));

    world.then(Destroyed(0));
    assert!(!world.oldest_may_create());
}

#[test]
fn a_promise_whose_request_times_out_makes_room_for_another_creation() {
    let mut world = World::with_borrowed(Rules { creation_limit: 1, ..target(2) }, &[0]);
    world.then(Clear);
    world.then(AbandonClear(0));
    world.then(Request(Some(0)));
    world.create(0);
    world.then(Return(1));
    world.then(HurriedRequest(Some(1)));
    assert_eq!(world.victims(), 1);
    world.then(Request(Some(2)));
    world.then(TimePasses);

    world.then(Return(0));
    assert_eq!(world.waiting.iter().filter(|request| request.is_rung).count(), 2);
}

#[test]
fn what_has_expired_while_it_was_asked_is_not_handed_out() {
    let sole = Rules::unlimited(Sharing::Sole);
    let rules = Rules { bucket_limit: 1, idle_timeout: Some(1), ..sole };
    let mut world = World::with_borrowed(rules, &[0]);
    world.then(Return(0));
    world.then(TakeAll);
    world.then(Request(Some(0)));
    world.then(TimePasses);

    world.then(Restore);
    assert_eq!((world.doomed.len(), world.oldest_may_create()), (1, false));
    world.then(Destroyed(0));
    assert!(world.oldest_may_create());
}

#[test]
fn workers_that_came_back_at_the_same_time_keep_their_order_while_they_are_asked() {
    let rules = Rules { bucket_limit: 3, ..Rules::unlimited(Sharing::Sole) };
    let mut world = World::with_borrowed(rules, &[0, 0, 0]);
    world.then(Return(0));
    world.then(Return(0));
    world.then(TakeAll);
    world.then(Return(0));
    world.then(Restore);
    world.then(Restore);
    let idle: Vec<_> = world.idle().iter().map(|idle| idle.value.id).collect();
    assert_eq!(idle, [1, 2, 3]);
}

#[test]
fn a_worker_whose_replacement_stands_is_no_victim_for_another() {
    let rules = Rules { creates_first: true, overshoot_limit: 0, ..target(2) };
    let mut world = World::with_borrowed(Rules { creation_limit: 1, ..rules }, &[0, 0]);
    world.then(Return(0));
    world.then(Return(0));
    world.then(Request(Some(1)));
    world.then(Request(Some(3)));
    world.create(1);
    let counts = world.scheduler.counts();
    assert_eq!((counts.total, counts.idle, counts.leaving), (3, 1, 1));
}

#[test]
fn a_class_that_has_nothing_does_not_wait_for_a_worker_that_another_replaces() {
    let rules = Rules { creates_first: true, ..target(1) };
    let mut world = World::with_borrowed(rules, &[0]);
    world.then(Return(0));
    world.then(Request(Some(1)));
    world.then(Request(Some(3)));
    assert_eq!(world.scheduler.counts().creating, 2);
}

#[test]
fn a_target_that_is_a_limit_is_not_exceeded_for_a_promise() {
    let rules = Rules { overshoot_limit: 0, ..target(2) };
    let mut world = World::with_borrowed(rules, &[1, 3]);
    world.then(Return(0));
    world.then(Request(Some(6)));
    world.then(Resize(1));
    world.then(Destroyed(0));
    assert!(!world.oldest_may_create());
}

#[test]
fn a_creation_apart_that_ends_begins_no_other() {
    let rules = Rules { creates_apart: true, ..Rules::unlimited(Sharing::Sole) };
    let mut world = World::new(rules, 1);
    world.then(Request(Some(0)));
    world.create(0);
    assert_eq!((world.scheduler.counts().total, world.borrowed.len()), (1, 1));
}

#[test]
fn what_was_created_apart_is_used_before_it_has_to_go() {
    let mut world = World::with_borrowed(Rules { creates_apart: true, ..target(2) }, &[1, 1]);
    world.then(Resize(1));
    world.then(Request(Some(0)));
    world.create(0);
    assert_eq!(world.borrowed.len(), 3);
}

#[test]
fn a_promise_begins_no_creation_beside_one_that_goes_on_for_all_who_wait() {
    let mut world = World::with_borrowed(Rules { creates_apart: true, ..target(3) }, &[1, 3]);
    world.then(Request(Some(6)));
    world.then(Collect(0));
    world.then(Request(Some(6)));
    world.then(Return(1));
    assert_eq!(world.victims(), 1);
    world.then(Cancel(1));
    world.then(Request(Some(7)));
    world.then(Destroyed(0));
    assert!(!world.oldest_may_create());
}

#[test]
fn a_keeper_does_not_rest_where_something_is_lacking_already() {
    let rules = Rules { reserve: 1, ..Rules::unlimited(Sharing::Sole) };
    let mut world = World::new(rules, 1);
    world.then(Rest(true));
    assert!(world.keeper.is_none());
}

#[test]
fn a_keeper_hears_of_a_creation_that_ends_and_of_a_request_that_leaves() {
    let sole = Rules::unlimited(Sharing::Sole);
    let mut world = World::new(Rules { reserve: 1, creation_limit: 1, ..sole }, 1);
    world.then(Request(Some(0)));
    world.then(Request(Some(0)));
    world.then(Rest(true));
    world.then(Cancel(1));
    assert!(world.keeper.is_some());
    world.create(0);
    assert!(world.keeper.is_none());
}
