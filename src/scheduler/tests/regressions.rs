//! Histories in which something went wrong once. Those about promises random ones seldom come to:
//! requests paid twice in some, or waited beside what they had been promised.

use super::choices::Choice::{
    AbandonClear, Clear, Collect, CreatedAs, Destroyed, HurriedRequest, Request, Restore, Return,
    ReturnDead, TakeAll, TimePasses,
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
