//! The points at which a call may wait where an option asks for it.

use super::guest::Fate::{Failed, Panicked, Refused, Served, TimedOut};
use super::guest::Row;
use super::kits::{
    APART, APART_RETRIES, BURIES, CREATES_IN_TIME, RECYCLES, RECYCLES_IN_TIME, RETRIES,
};
use super::scene::Outcome::{Fail, Finish, Panic};
use super::scene::{Act, Scene, Ways};
use crate::common::mines::{End, Job, Place};

pub fn scenes<G: Row>() -> Vec<Scene<G>> {
    [creating(), recycling(), retrying(), creating_apart(), burying()]
        .into_iter()
        .flatten()
        .collect()
}

fn creating<G: Row>() -> Vec<Scene<G>> {
    let ways: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well)),
        (Finish, Served, |s| s.end(End::Well).pause()),
        (Fail, TimedOut, |s| s.pause()),
        (Fail, TimedOut, |s| s.clear().pause()),
        (Fail, TimedOut, |s| s.close().pause()),
        (Panic, Panicked, |s| s.end(End::Panic).pause()),
    ];
    vec![
        Scene::new(
            "creating, within a time",
            CREATES_IN_TIME,
            |s| s.get(G::FULL[1]).shut(Job::Create).call_and_others(),
            ways,
        )
        .late(TimedOut),
    ]
}

fn recycling<G: Row>() -> Vec<Scene<G>> {
    let ways: Ways<G> = &[
        (Finish, Served, |s| s.recycle(End::Well)),
        (Finish, Served, |s| s.recycle(End::Error)),
        (Finish, Served, |s| s.invalidate().recycle(End::Well)),
        (Finish, Served, |s| s.shrink().recycle(End::Well)),
        (Fail, Failed, |s| s.end(End::Error).recycle(End::Error)),
        (Fail, Failed, |s| s.clear().recycle(End::Well)),
        (Fail, Failed, |s| s.clear().recycle(End::Error)),
        (Fail, Refused, |s| s.close().recycle(End::Well)),
        (Fail, Refused, |s| s.close().recycle(End::Error)),
        (Panic, Panicked, |s| s.recycle(End::Panic)),
        (Panic, Panicked, |s| s.panic_in(Place::WorkerDrop).recycle(End::Error)),
        (Panic, Panicked, |s| s.clear().panic_in(Place::WorkerDrop).recycle(End::Error)),
    ];
    let within_a_time: Ways<G> = &[
        (Finish, Served, |s| s.recycle(End::Well).pause()),
        (Finish, Served, |s| s.pause()),
        (Fail, Failed, |s| s.end(End::Error).pause()),
        (Fail, Failed, |s| s.clear().pause()),
        (Panic, Panicked, |s| s.panic_in(Place::WorkerDrop).pause()),
    ];
    vec![
        Scene::new(
            "recycling an idle worker",
            RECYCLES,
            |s| s.fill().first_returns().shut(Job::Recycle).call_and_others(),
            ways,
        )
        .late(TimedOut),
        Scene::new(
            "recycling a worker that was handed over",
            RECYCLES,
            |s| s.fill().shut(Job::Recycle).call_and_others().first_returns().call_goes_on(),
            ways,
        )
        .late(TimedOut),
        Scene::new(
            "recycling, within a time",
            RECYCLES_IN_TIME,
            |s| s.fill().first_returns().shut(Job::Recycle).call_and_others(),
            within_a_time,
        )
        .late_after(TimedOut, |s| s.shut(Job::Create).be_late()),
    ]
}

fn retrying<G: Row>() -> Vec<Scene<G>> {
    let ways: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well).pause()),
        (Finish, Served, |s| s.end(End::Error).pause().call_goes_on().end(End::Well).pause()),
        (Finish, Served, |s| s.invalidate().end(End::Well).end(End::Well).pause()),
        (Finish, Served, |s| s.shrink().end(End::Well).pause()),
        (Fail, Failed, |s| s.end(End::Error).pause().call_goes_on().end(End::Error).pause()),
        (Fail, Failed, |s| s.clear().end(End::Well).pause()),
        (Fail, Failed, |s| s.clear().end(End::Error).pause()),
        (Fail, Refused, |s| s.close().end(End::Well).pause()),
        (Fail, Failed, |s| s.close().end(End::Error).pause()),
        (Panic, Panicked, |s| s.end(End::Panic).pause()),
        (Panic, Panicked, |s| s.clear().panic_in(Place::WorkerDrop).end(End::Well).pause()),
    ];
    vec![
        Scene::new(
            "between two attempts at a creation",
            RETRIES,
            |s| s.get(G::FULL[1]).end(End::Error).call_and_others(),
            ways,
        )
        .late(TimedOut)
        .late_after(TimedOut, |s| s.end(End::Error).be_late()),
    ]
}

fn creating_apart<G: Row>() -> Vec<Scene<G>> {
    let ways: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well).run_tasks()),
        (Finish, Served, |s| s.first_returns()),
        (Finish, Served, |s| s.invalidate().end(End::Well).end(End::Well).run_tasks()),
        (Finish, Served, |s| s.shrink().end(End::Well).run_tasks()),
        (Fail, Failed, |s| s.end(End::Error).run_tasks()),
        (Fail, Failed, |s| s.clear()),
        (Fail, Failed, |s| s.clear().end(End::Well).run_tasks()),
        (Fail, Refused, |s| s.close()),
        (Fail, Refused, |s| s.close().end(End::Error).run_tasks()),
        (Panic, Panicked, |s| s.end(End::Panic).run_tasks()),
        (Panic, Panicked, |s| s.panic_in(Place::Wake).end(End::Well).run_tasks()),
        (Panic, Panicked, |s| s.clear().panic_in(Place::WorkerDrop).end(End::Well).run_tasks()),
    ];
    let in_vain: Ways<G> = &[
        (Finish, Served, |s| s.first_returns()),
        (Finish, Served, |s| s.end(End::Well).run_tasks().call_goes_on().first_returns()),
        (Fail, Failed, |s| s.end(End::Error).run_tasks()),
        (Fail, Failed, |s| s.end(End::Well).run_tasks().call_goes_on().clear()),
        (Panic, Panicked, |s| s.end(End::Panic).run_tasks()),
        (Panic, Panicked, |s| s.panic_in(Place::WorkerDrop).end(End::Well).run_tasks()),
    ];
    let paused: Ways<G> = &[
        (Finish, Served, |s| s.end(End::Well).pause()),
        (Finish, Served, |s| s.first_returns()),
        (Fail, Failed, |s| s.end(End::Error).end(End::Error).pause().pause()),
        (Fail, Failed, |s| s.clear()),
        (Fail, Refused, |s| s.close()),
        (Panic, Panicked, |s| s.end(End::Panic).pause()),
    ];
    vec![
        Scene::new(
            "beside its creation, which has not begun",
            APART,
            |s| s.get(G::FULL[1]).shut(Job::Create).ask_call(G::CALL).call_goes_on(),
            ways,
        )
        .late(TimedOut),
        Scene::new(
            "beside its creation",
            APART,
            |s| s.get(G::FULL[1]).shut(Job::Create).call_and_others(),
            ways,
        )
        .late(TimedOut),
        Scene::new(
            "beside its creation in vain, for its class is full",
            APART,
            |s| s.get(1).shut(Job::Create).call_and_others(),
            in_vain,
        )
        .late(TimedOut)
        .unless(G::NEVER_FULL),
        Scene::new(
            "beside its creation, between two attempts",
            APART_RETRIES,
            |s| s.get(G::FULL[1]).end(End::Error).call_and_others(),
            paused,
        )
        .late(TimedOut),
    ]
}

fn burying<G: Row>() -> Vec<Scene<G>> {
    let in_line: Ways<G> = &[
        (Finish, Served, |s| s.destroy(End::Well)),
        (Finish, Served, |s| s.pause()),
        (Finish, Served, |s| s.invalidate().destroy(End::Well)),
        (Fail, Failed, |s| s.end(End::Error).destroy(End::Well)),
        (Fail, Failed, |s| s.clear()),
        (Fail, Refused, |s| s.close()),
        (Panic, Served, |s| s.destroy(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).destroy(End::Well)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).pause()),
        (Panic, Served, |s| s.panic_in(Place::Wake).destroy(End::Well)),
        (Panic, Panicked, |s| s.end(End::Panic).destroy(End::Well)),
    ];
    let gone: [(_, _, Act<G>); 1] =
        [(Finish, Served, |s| s.shrink().second_returns().destroy(End::Well).destroy(End::Well))];
    let promised: [(_, _, Act<G>); 1] = [(Finish, Served, |s| s.shrink().destroy(End::Well))];
    let met: Ways<G> = &[
        (Finish, Served, |s| s.destroy(End::Well).destroy(End::Well)),
        (Finish, Served, |s| s.pause()),
        (Finish, Served, |s| s.invalidate().destroy(End::Well).destroy(End::Well)),
        (Finish, Served, |s| s.shrink().destroy(End::Well).destroy(End::Well)),
        (Fail, Failed, |s| s.end(End::Error).destroy(End::Well).destroy(End::Well)),
        (Fail, Failed, |s| s.clear()),
        (Fail, Refused, |s| s.close()),
        (Panic, Served, |s| s.destroy(End::Panic).destroy(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).pause()),
        (Panic, Served, |s| s.panic_in(Place::Wake).pause()),
        (Panic, Panicked, |s| s.end(End::Panic).destroy(End::Well).destroy(End::Well)),
    ];
    let ending: Ways<G> = &[
        (Finish, Served, |s| s.destroy(End::Well).destroy(End::Well)),
        (Finish, Served, |s| s.pause()),
        (Fail, Served, |s| s.clear().destroy(End::Well).destroy(End::Well)),
        (Fail, Served, |s| s.close().pause()),
        (Panic, Served, |s| s.destroy(End::Panic).destroy(End::Panic)),
        (Panic, Served, |s| s.panic_in(Place::WorkerDrop).pause()),
        (Panic, Served, |s| s.panic_in(Place::Wake).pause()),
    ];
    vec![
        Scene::new(
            "in line, while a task destroys a dead worker",
            BURIES,
            |s| s.fill().call_and_others().die().shut(Job::Destroy).first_returns().run_tasks(),
            &[in_line, &gone].concat(),
        )
        .late(TimedOut),
        Scene::new(
            "in line, while a task destroys the dead workers that it met",
            BURIES,
            |s| s.fill().both_return().die().shut(Job::Destroy).call_and_others(),
            met,
        )
        .late(TimedOut),
        Scene::new(
            "promised the slot of a victim that a task destroys",
            BURIES,
            |s| s.get(3).get(1).get_call(3).get(3).shut(Job::Destroy).second_returns().run_tasks(),
            &[in_line, &promised].concat(),
        )
        .late(TimedOut)
        .unless(G::NEVER_EVICTS),
        Scene::new(
            "clearing, while a task destroys the last workers",
            BURIES,
            |s| s.fill().shut(Job::Destroy).clear().as_call().both_return().run_tasks(),
            ending,
        ),
        Scene::new(
            "closing, while a task destroys the last workers",
            BURIES,
            |s| s.fill().shut(Job::Destroy).close().as_call().both_return().run_tasks(),
            ending,
        ),
    ]
}
