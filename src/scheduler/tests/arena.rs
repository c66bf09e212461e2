use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::scheduler::arena::Arena;

proptest! {
    /// `Some` adds a number, `None` and a pick removes one.
    #[test]
    fn an_arena_keeps_what_it_is_given(steps in prop::collection::vec((any::<bool>(), 0..40_usize), 0..400)) {
        let mut arena = Arena::new();
        let mut model = BTreeMap::new();
        for (number, (adds, pick)) in steps.into_iter().enumerate() {
            if adds {
                let next = arena.next();
                prop_assert_eq!(arena.insert(number), next);
                prop_assert_eq!(model.insert(next, number), None);
            } else if let Some(&index) = model.keys().nth(pick) {
                prop_assert_eq!(arena.remove(index), model.remove(&index));
                prop_assert_eq!(arena.remove(index), None);
            }
            prop_assert!(arena.iter().eq(model.values()));
            prop_assert_eq!(arena.len(), model.len());
        }
    }
}

#[test]
fn who_comes_while_a_crowd_leaves_takes_a_place_at_the_front() {
    let mut arena = Arena::new();
    let mut crowd: Vec<_> = (0..10_000).map(|number| arena.insert(number)).collect();
    let mut last = None;
    while let Some(index) = crowd.pop() {
        arena.remove(index);
        if crowd.len() % 100 == 50 {
            arena.remove(crowd.remove(0));
            let newcomer = arena.insert(0);
            last.replace(newcomer).map(|before| arena.remove(before));
        }
    }
    assert_eq!(arena.len(), 1);
    assert!(arena.room() <= 64, "{}", arena.room());
}

#[test]
fn nothing_keeps_no_room() {
    let mut arena = Arena::new();
    let crowd: Vec<_> = (0..10_000).map(|number| arena.insert(number)).collect();
    crowd.into_iter().for_each(|index| _ = arena.remove(index));
    assert_eq!(arena.room(), 0);
}

#[test]
fn the_first_takes_room_for_itself_alone() {
    let mut arena = Arena::new();
    arena.insert(0);
    assert_eq!(arena.room(), 1);
}
