//! What a crowd costs while it is there, and what room it leaves behind.

use super::choices::Choice::Return;
use super::steps::target;
use super::world::World;
use crate::scheduler::arena::is_sparse;
use crate::scheduler::line::{Line, Waiters};
use crate::scheduler::waiter::Waiter;
use crate::scheduler::{Lane, Rules, Sharing, Ticket};

/// If it walked, this would take minutes.
#[test]
fn a_newcomer_does_not_walk_the_line() {
    let (mut waiters, mut line) = (Waiters::new(), Line::default());
    for number in 0..300_000 {
        waiters.line_up(&mut line, Waiter::new(Ticket(number), Lane::Any, (), (0, None)));
    }
    assert_eq!(waiters.len(), 300_000);
}

#[test]
fn no_order_across_buckets_is_kept_where_nobody_asks_for_it() {
    for sharing in [Sharing::Sole, Sharing::Apart] {
        let mut world = World::with_borrowed(Rules::unlimited(sharing), &[0]);
        world.then(Return(0));
        assert!(world.scheduler.recency.is_none(), "{sharing:?}");
    }
}

#[test]
fn a_bucket_that_never_held_more_than_one_has_room_for_one() {
    let mut world = World::with_borrowed(target(1), &[1]);
    world.then(Return(0));
    let buckets = &world.scheduler.buckets;
    assert_eq!(buckets[buckets.ids()[0]].idle.capacity(), 1);
}

#[test]
fn what_uses_less_than_an_eighth_of_more_than_32_places_is_sparse() {
    let places = [(3, 32), (0, 32), (3, 33), (4, 33), (7, 64), (8, 64), (9, 64)];
    let sparse = places.map(|(len, capacity)| is_sparse(len, capacity));
    assert_eq!(sparse, [false, false, true, false, true, false, false]);
}
