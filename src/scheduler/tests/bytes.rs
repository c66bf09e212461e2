//! Histories spelled in bytes, for a fuzzer that learns from what they reach.
//!
//! The first bytes choose the limits, every other one the next of the events that may happen then.
//! The model has to agree after each, and everything has to end well from where the bytes end.

use super::choices::{Bounds, Extras};
use super::comparison::Pair;
use crate::scheduler::{Rules, Sharing};

/// More make a history slower, not different.
const MAX_EVENTS: usize = 400;

/// Lives through the history, and panics where the scheduler is wrong.
pub(crate) fn live(bytes: &[u8]) {
    let Some((header, events)) = bytes.split_first_chunk() else {
        return;
    };
    let [
        sharing,
        bucket,
        idle,
        creation,
        timeout,
        passes,
        size,
        extras,
        waiting,
        life,
        more,
        keeper,
    ] = *header;
    let sharing = match sharing % 5 {
        0 => Sharing::Sole,
        1 => Sharing::Apart,
        target => Sharing::Target(usize::from(target) - 1),
    };
    let rules = Rules {
        bucket_limit: limit(bucket, 1),
        bucket_idle_limit: limit(idle, 0),
        creation_limit: limit(creation, 1),
        waiting_limit: usize::from(waiting % 4).checked_sub(1).unwrap_or(usize::MAX),
        idle_timeout: (timeout % 4).checked_sub(1).map(u64::from),
        max_uses: u64::from(life % 4).checked_sub(1).map_or(u64::MAX, |uses| uses + 1),
        reserve: if sharing == Sharing::Apart { 0 } else { usize::from(keeper % 3) },
        max_passes: u32::from(passes % 3),
        creates_apart: more & 1 == 1,
        creates_first: more & 2 == 2,
        overshoot_limit: usize::from(more / 4 % 4).checked_sub(1).unwrap_or(usize::MAX),
        ..Rules::unlimited(sharing)
    };
    let classes = if sharing == Sharing::Sole { 1 } else { 1 + u32::from(size % 3) };
    let requests = 1 + usize::from(size / 3 % 6);
    let span = (life / 4 % 4).checked_sub(1).map(u64::from);
    let bounds = Bounds {
        classes,
        requests,
        clears: 2,
        extras: Extras { span, keeper: keeper & 4 == 4, spares: keeper & 8 == 8, ..kinds(extras) },
    };

    let mut pair = Pair::new(rules, &bounds);
    for event in events.iter().take(MAX_EVENTS) {
        let choices = pair.world.choices(&bounds);
        let Some(&choice) = choices.get(usize::from(*event) % choices.len().max(1)) else {
            break;
        };
        pair.apply(choice);
        pair.world.check_service(choice);
        pair.world.check();
    }
    pair.world.wind_up();
}

/// Each bit stands for a kind of event that may happen.
fn kinds(byte: u8) -> Extras {
    let has = |bit: u32| byte >> bit & 1 == 1;
    Extras {
        sizes: if has(0) { 3 } else { 0 },
        invalidate: has(1),
        close: has(2),
        retain: has(3),
        deadlines: has(4),
        tries: has(5),
        ..Extras::default()
    }
}

/// From `least` to 3, or none.
fn limit(byte: u8, least: usize) -> usize {
    let limit = least + usize::from(byte) % (5 - least);
    if limit > 3 { usize::MAX } else { limit }
}

/// What the fuzzer found worth keeping.
#[cfg(test)]
#[test]
fn every_history_of_the_corpus_is_right() -> std::io::Result<()> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut histories = 0;
    for entry in std::fs::read_dir(corpus)? {
        let path = entry?.path();
        println!("{}", path.display());
        live(&std::fs::read(path)?);
        histories += 1;
    }
    assert!(histories > 0);
    Ok(())
}
