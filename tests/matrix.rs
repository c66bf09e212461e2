//! Every point at which a call may wait, every way on from there, and a panic of each call of the
//! user's code that follows.

mod common;
#[path = "matrix/guest.rs"]
mod guest;
#[path = "matrix/kits.rs"]
mod kits;
#[path = "matrix/optional.rs"]
mod optional;
#[path = "matrix/scene.rs"]
mod scene;
#[path = "matrix/stage.rs"]
mod stage;
#[path = "matrix/waits.rs"]
mod waits;

use common::mines::{Any, Classified, General, Keyed, hush};
use common::{in_own_process, in_time};

use self::guest::Row;
use self::scene::{OUTCOMES, Scene};

/// How many cells there are of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cells {
    /// One for each place, on each way on.
    fine: usize,
    /// One for each call of the user's code.
    panics: usize,
    /// Nothing is called in that place.
    uncalled: usize,
    /// The call can't go on like this. Two for each place.
    impossible: usize,
}

fn all_scenes<G: Row>() -> impl Iterator<Item = Scene<G>> {
    let scenes = [waits::scenes(), optional::scenes()].into_iter().flatten();
    scenes.flat_map(|scene| {
        let timed = scene.timed();
        [Some(scene), timed].into_iter().flatten()
    })
}

fn run_all<G: Row>() -> Cells {
    hush();
    let mut cells = Cells::default();
    for scene in all_scenes::<G>() {
        let what =
            format!("{}{}", scene.name, if scene.is_timed { ", with a deadline" } else { "" });
        for outcome in OUTCOMES {
            let ways = scene.ways.iter().filter(|end| end.0 == outcome);
            let never = scene.never.iter().find(|never| never.0 == outcome);
            assert_eq!(ways.clone().count() > 0, never.is_none(), "{what}: {outcome:?}");
            if let Some((_, why)) = never {
                eprintln!("{what}, {outcome:?}: never, for {why}");
                cells.impossible += 2 * scene.places().count();
            }
            for (number, &way) in ways.enumerate() {
                for place in scene.places() {
                    let mut passes = 0;
                    while {
                        eprintln!("{what}, {outcome:?} {number}: {place:?} {passes}");
                        scene.run(way, (place, passes))
                    } {
                        passes += 1;
                    }
                    cells.fine += 1;
                    cells.panics += passes;
                    cells.uncalled += usize::from(passes == 0);
                }
            }
        }
    }
    cells
}

/// In a process of its own, so that an abort is seen. The last cell that it names is the one.
fn row<G: Row>(test: &str, expected: Cells) {
    in_own_process(test, || {
        in_time(move || {
            let cells = run_all::<G>();
            println!("{cells:?}");
            assert_eq!(cells, expected);
        });
    });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn general() {
    row::<General>("general", Cells { fine: 5461, panics: 7370, uncalled: 3389, impossible: 824 });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn keyed() {
    row::<Keyed>("keyed", Cells { fine: 5461, panics: 22285, uncalled: 642, impossible: 824 });
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn classified() {
    row::<Classified>(
        "classified",
        Cells { fine: 5996, panics: 26629, uncalled: 641, impossible: 594 },
    );
}

/// CX-1, CX-2, CX-4, CX-6, PN-1, PN-2
#[test]
fn any() {
    row::<Any>("any", Cells { fine: 6297, panics: 25805, uncalled: 950, impossible: 384 });
}
