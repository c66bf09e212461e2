//! Every option and every call that operators need, at work on a server that they can break.
//!
//! A database server in this process speaks a small line protocol over TCP. Each scene makes it slow,
//! kills its connections, restarts it or rotates its password, and shows what the pool's callers see:
//! a good connection or a clear error. A scene whose promise does not hold ends the program with an
//! error.
//!
//! | file | scenes |
//! |---|---|
//! | `waiting.rs` | how long a request waits, and how many may |
//! | `creating.rs` | creations that are slow, fail or are abandoned; creations ahead of need |
//! | `health.rs` | connections that broke, are checked, grew old, or are taken away |
//! | `upkeep.rs` | what a pool does without traffic: expiry, a reserve, polite ends |
//! | `control.rs` | what an operator changes while requests go on, up to the end |
//! | `kinds.rs` | the same in a classified and in a keyed pool |
//!
//! Every line begins with the time since the start.
//!
//! ```text
//! cargo run --release --example operations
//! ```

use std::error::Error;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use sfo_pool::{PoolError, PoolErrorCode, PoolResult};
use tokio::time::{sleep, timeout};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

macro_rules! report {
    ($($message:tt)*) => {
        println!("{:>5} ms  {}", crate::START.elapsed().as_millis(), format_args!($($message)*))
    };
}

mod connection;
mod control;
mod creating;
mod health;
mod kinds;
mod server;
mod upkeep;
mod waiting;

type Outcome = Result<(), Box<dyn Error>>;

/// A time that ends while somebody watches.
const SHORT: Duration = Duration::from_millis(50);
/// A time that ends only if a promise is broken, on a busy machine as well.
const LONG: Duration = Duration::from_secs(20);
/// How long a server takes that has hung.
const HUNG: Duration = Duration::from_secs(3600);

#[tokio::main]
async fn main() -> Outcome {
    LazyLock::force(&START);

    scene("a request takes too long", waiting::time_out()).await?;
    scene("a waiting request is given up", waiting::give_up()).await?;
    scene("nobody wants to wait", waiting::try_at_once()).await?;
    scene("too many wait", waiting::be_full()).await?;

    scene("a handshake hangs", creating::time_out()).await?;
    scene("the server restarts, and requests outlast it", creating::retry()).await?;
    scene("a caller gives up, but its connection is kept", creating::outlive_caller()).await?;
    scene("a burst meets a server that bears two handshakes", creating::limit_handshakes()).await?;
    scene("the pool is warm before the first request", creating::prewarm()).await?;
    scene("an option makes no sense", creating::misconfigure()).await?;

    scene("the server closes a connection", health::replace_broken()).await?;
    scene("connections are checked before reuse", health::recycle()).await?;
    scene("a check hangs", health::bound_recycling()).await?;
    scene("a connection may be used twice", health::wear_out()).await?;
    scene("connections grow old, each at a time of its own", health::grow_old()).await?;
    scene("a task panics", health::panic_with_guard()).await?;
    scene("connections are taken away", health::take_away()).await?;

    scene("idle connections expire", upkeep::expire()).await?;
    scene("a reserve is kept", upkeep::keep_reserve()).await?;
    scene("connections say goodbye", upkeep::say_goodbye()).await?;

    scene("the limit changes", control::resize()).await?;
    scene("some of the idle go", control::retain()).await?;
    scene("the password is rotated", control::rotate_password()).await?;
    scene("the pool is cleared under load", control::clear_under_load()).await?;
    scene("the pool is closed", control::close()).await?;

    scene("a classified pool: a replacement first", kinds::create_first()).await?;
    scene("a classified pool: above the target", kinds::overshoot()).await?;
    scene("a keyed pool: each key for itself", kinds::keys()).await?;

    println!("\nall promises were kept");
    Ok(())
}

async fn scene(title: &str, scene: impl Future<Output = Outcome>) -> Outcome {
    println!("\n{title}");
    let outcome = timeout(3 * LONG, scene).await;
    outcome.unwrap_or_else(|_| Err("the scene does not end".into()))
}

/// Waits for what another task or the server brings about.
async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "waited in vain: {what}");
        sleep(Duration::from_millis(1)).await;
    }
}

fn expect_error<T>(who: &str, result: PoolResult<T>, code: PoolErrorCode) -> PoolError {
    let Err(error) = result else { panic!("{who} is served, but should get {code:?}") };
    assert_eq!(error.code(), code, "{error}");
    report!("{who} gets {code:?}: {}{}", error.msg(), causes(&error));
    error
}

/// For people, so without the places that an error of the pool prints.
fn causes(error: &PoolError) -> String {
    let Some(source) = error.source() else { return String::new() };
    match source.downcast_ref::<PoolError>() {
        Some(source) => format!("; cause: {}{}", source.msg(), causes(source)),
        None => format!("; cause: {source}"),
    }
}
