//! What the pools of the scenes are told to do.

use std::time::Duration;

use sfo_pool::{PoolOptions, PoolRetry};

use super::stage::SPAN;
use crate::common::mines::{Place, tread};

/// The options of a pool, and what they bring.
#[derive(Clone, Copy)]
pub struct Kit {
    pub options: fn() -> PoolOptions,
    /// Where more of the user's code runs.
    pub place: Option<Place>,
    /// Whether anything is done by tasks.
    pub has_tasks: bool,
    pub has_pauses: bool,
}

impl Kit {
    const fn new(options: fn() -> PoolOptions) -> Self {
        Self { options, place: None, has_tasks: false, has_pauses: false }
    }

    const fn calling(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    const fn with_tasks(self) -> Self {
        Self { has_tasks: true, ..self }
    }

    const fn with_pauses(self) -> Self {
        Self { has_pauses: true, ..self }
    }

    /// How often in a row all may wait for a task or the end of a pause.
    pub fn max_rests(self) -> usize {
        if self.has_tasks || self.has_pauses { 10 } else { 0 }
    }
}

pub const PLAIN: Kit = Kit::new(PoolOptions::default);

/// One creation at a time.
pub const NARROW: Kit =
    Kit::new(|| PoolOptions::default().with_max_concurrent_creation_count(Some(1)));

/// A creation has but so long.
pub const CREATES_IN_TIME: Kit =
    Kit::new(|| PoolOptions::default().with_creation_timeout(Some(SPAN)));

/// Every worker is recycled before its next use.
pub const RECYCLES: Kit = Kit::new(recycling).calling(Place::Recycle);

/// The same, within a time.
pub const RECYCLES_IN_TIME: Kit =
    Kit::new(|| recycling().with_recycle_timeout(Some(SPAN))).calling(Place::Recycle);

/// A creation that fails is tried again, twice.
pub const RETRIES: Kit = Kit::new(retrying).calling(Place::IsTransient).with_pauses();

/// Creations go on apart.
pub const APART: Kit = Kit::new(apart).with_tasks();

/// Creations go on apart, and are tried again.
pub const APART_RETRIES: Kit = Kit::new(|| retrying().with_detached_creation(true))
    .calling(Place::IsTransient)
    .with_tasks()
    .with_pauses();

/// A task of the pool's own destroys workers.
pub const BURIES: Kit =
    Kit::new(|| PoolOptions::default().with_maintenance(true).with_destroy_timeout(Some(SPAN)))
        .calling(Place::Destroy)
        .with_tasks();

fn recycling() -> PoolOptions {
    PoolOptions::default().with_recycle_after(Some(Duration::ZERO))
}

fn apart() -> PoolOptions {
    PoolOptions::default().with_detached_creation(true)
}

fn retrying() -> PoolOptions {
    // With its random part a pause is still shorter than a span.
    let pause = Duration::from_millis(100);
    let is_transient = |_: &_| {
        tread(Place::IsTransient);
        true
    };
    let retry = PoolRetry::new(is_transient).with_max_retry_count(2);
    PoolOptions::default()
        .with_creation_retry(Some(retry.with_first_delay(pause).with_max_delay(pause)))
}
