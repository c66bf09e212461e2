//! The points at which a call may wait in any pool.

use super::guest::Fate::{Failed, Panicked, Refused, Served, TimedOut, Waits};
use super::guest::Row;
use super::kits::{NARROW, PLAIN};
use super::scene::Outcome::{Fail, Finish, Panic};
use super::scene::{Scene, Ways};
use crate::common::mines::{End, Job, Place, boom};

pub fn scenes<G: Row>() -> Vec<Scene<G>> {
    const ONLY_MINES: &str = "all of the user's code that runs here is mined";
    const HAS_FAILED: &str = "it has failed already";
    const HAS_ENDED: &str = "all that it waited for has ended";

    let in_line: Ways<G> = &[
        (Finish, Served, |s| s.first_returns()),
        (Finish, Served, |s| s.die().first_returns()),
        (Fail, Failed, |s| s.clear()),
        (Fail, Failed, |s| s.end(End::Error).die().first_returns()),
        (Panic, Served, |s| s.panic_in(Place::Wake).first_returns()),
        (Panic, Failed, |s| s.panic_in(Place::Wake).clear()),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).die().first_returns()),
        (Panic, Panicked, |s| s.end(End::Panic).die().first_returns()),
        (Finish, Served, |s| s.invalidate().first_returns()),
        (Fail, Refused, |s| s.close()),
    ];
    let handed: Ways<G> = &[
        (Finish, Served, |s| s),
        (Fail, Failed, |s| s.clear()),
        (Panic, Failed, |s| s.panic_in(Place::WorkerDrop).clear()),
        (Finish, Served, |s| s.invalidate()),
        (Finish, Served, |s| s.shrink()),
        (Fail, Refused, |s| s.close()),
    ];
    let granted: Ways<G> = &[
        (Finish, Served, |s| s),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Panicked, |s| s.end(End::Panic)),
        (Finish, Served, |s| s.invalidate()),
        (Finish, Served, |s| s.shrink()),
        (Fail, Refused, |s| s.close()),
    ];
    let creating: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well)),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear().end(End::Well)),
        (Panic, Panicked, |s| s.end(End::Panic)),
        (Panic, Panicked, |s| s.clear().panic_in(Place::WorkerDrop).end(End::Well)),
        (Finish, Served, |s| s.invalidate().end(End::Well).end(End::Well)),
        (Finish, Served, |s| s.shrink().end(End::Well)),
        (Fail, Refused, |s| s.close().end(End::Well)),
    ];
    let creating_in_vain: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well).call_goes_on().first_returns()),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.end(End::Well).call_goes_on().clear()),
        (Panic, Panicked, |s| s.end(End::Panic)),
        (Panic, Panicked, |s| s.panic_in(Place::WorkerDrop).end(End::Well)),
    ];
    let behind_a_creation: Ways<G> = &[
        (Finish, Served, |s| s.create(End::Well).end(End::Well)),
        (Fail, Failed, |s| s.create(End::Error).end(End::Error)),
        (Fail, Failed, |s| s.creator_leaves().end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Panicked, |s| s.create(End::Panic).end(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::Wake).create(End::Error).end(End::Well)),
        (Finish, Served, |s| s.invalidate().create(End::Error).end(End::Well)),
        (Fail, Refused, |s| s.close()),
    ];
    let inside: Ways<G> = &[
        (Finish, Served, |s| s.call_goes_on()),
        (Finish, Served, |s| s.first_returns()),
        (Fail, Failed, |s| s.end(End::Error)),
        (Fail, Failed, |s| s.clear()),
        (Panic, Served, |s| s.then(|_| boom())),
        (Panic, Panicked, |s| s.end(End::Panic)),
    ];
    let clearing: Ways<G> = &[
        (Finish, Served, |s| s.both_return()),
        (Fail, Served, |s| s.die().both_return()),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).both_return()),
        (Panic, Served, |s| s.panic_in(Place::Wake).both_return()),
    ];
    let clearing_a_creation: Ways<G> = &[
        (Finish, Served, |s| s.create(End::Well)),
        (Fail, Served, |s| s.create(End::Error)),
        (Fail, Served, |s| s.creator_leaves()),
        (Panic, Served, |s| s.create(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).create(End::Well)),
        (Panic, Served, |s| s.panic_in(Place::Wake).create(End::Well)),
    ];

    vec![
        Scene::new(
            "not polled yet",
            PLAIN,
            |s| s.fill().ask_call(G::CALL),
            &[(Finish, Served, |s| s.first_returns()), (Fail, Refused, |s| s.clear())],
        )
        .late(Waits)
        .never(Panic, ONLY_MINES),
        Scene::new("in line", PLAIN, |s| s.fill().call_and_others(), in_line).late(TimedOut),
        Scene::new(
            "handed a worker",
            PLAIN,
            |s| s.fill().call_and_others().first_returns(),
            handed,
        )
        .late(Served),
        Scene::new(
            "granted a creation",
            PLAIN,
            |s| s.fill().call_and_others().die().first_returns(),
            granted,
        )
        .late(Served),
        Scene::new(
            "creating",
            PLAIN,
            |s| s.get(G::FULL[1]).shut(Job::Create).call_and_others(),
            creating,
        )
        .late(TimedOut),
        Scene::new(
            "creating, after idle workers that were dead",
            PLAIN,
            |s| s.fill().both_return().die().shut(Job::Create).call_and_others(),
            creating,
        )
        .late(TimedOut),
        Scene::new(
            "in line for a creation",
            NARROW,
            |s| s.shut(Job::Create).get(G::FULL[1]).call_and_others(),
            behind_a_creation,
        )
        .late(TimedOut),
        Scene::new(
            "in line, after an idle worker that was dead",
            NARROW,
            |s| {
                s.get(G::FULL[0])
                    .shut(Job::Create)
                    .get(G::FULL[1])
                    .first_returns()
                    .die()
                    .call_and_others()
            },
            behind_a_creation,
        )
        .late(TimedOut),
        Scene::new(
            "creating in vain, for its class is full",
            PLAIN,
            |s| s.get(1).shut(Job::Create).call_and_others(),
            creating_in_vain,
        )
        .late(TimedOut)
        .unless(G::NEVER_FULL),
        Scene::new(
            "in line again, for its class was full",
            PLAIN,
            |s| s.get(1).call_and_others(),
            in_line,
        )
        .late(TimedOut)
        .unless(G::NEVER_FULL),
        Scene::new(
            "granted another creation, once its class had room",
            PLAIN,
            |s| s.get(1).call_and_others().die().first_returns(),
            granted,
        )
        .late(Served)
        .unless(G::NEVER_FULL),
        Scene::new(
            "in line, while a dead worker is destroyed",
            PLAIN,
            |s| s.get(G::FULL[1]).get(G::FULL[0]).call_and_others().die(),
            inside,
        )
        .late(TimedOut)
        .inside(),
        Scene::new(
            "promised the slot of a victim",
            PLAIN,
            |s| s.get(3).get(1).get_call(3).get(3),
            inside,
        )
        .late(TimedOut)
        .inside()
        .unless(G::NEVER_EVICTS),
        Scene::new(
            "told of a clear",
            PLAIN,
            |s| s.fill().call_and_others().clear(),
            &[(Finish, Failed, |s| s)],
        )
        .late(Failed)
        .never(Fail, HAS_FAILED)
        .never(Panic, ONLY_MINES),
        Scene::new(
            "clearing, while workers are out",
            PLAIN,
            |s| s.fill().get(G::CALL).clear().as_call(),
            clearing,
        ),
        Scene::new(
            "clearing, beside an older clear",
            PLAIN,
            |s| s.fill().clear().clear().as_call(),
            clearing,
        ),
        Scene::new(
            "clearing, beside a younger clear",
            PLAIN,
            |s| s.fill().clear().as_call().clear(),
            clearing,
        ),
        Scene::new(
            "clearing, while a worker is created",
            PLAIN,
            |s| s.shut(Job::Create).get(G::CALL).clear().as_call(),
            clearing_a_creation,
        ),
        Scene::new(
            "clearing, while the last worker is destroyed",
            PLAIN,
            |s| s.fill().first_returns().clear().as_call(),
            &[
                (Finish, Served, |s| s.call_goes_on()),
                (Fail, Served, |s| s.clear()),
                (Panic, Served, |s| s.then(|_| boom())),
            ],
        )
        .inside(),
        Scene::new(
            "told of the end of its clear",
            PLAIN,
            |s| s.fill().clear().as_call().both_return(),
            &[(Finish, Served, |s| s)],
        )
        .never(Fail, HAS_ENDED)
        .never(Panic, ONLY_MINES),
    ]
}
