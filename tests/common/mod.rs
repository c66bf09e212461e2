//! What the tests share: workers and a factory that the test drives, calls that it polls by hand,
//! and a frame that runs one law on every pool.
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod call;
mod crowd;
mod dice;
mod keys;
pub mod mines;
mod pools;
mod spy;
mod workers;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

pub use self::call::Call;
pub use self::crowd::{poll_woken, wait, woken};
pub use self::dice::Dice;
pub use self::keys::{KeyProbe, ProbedFactory, ProbedGuard, ProbedKey, ProbedKeys, ProbedWorker};
pub use self::pools::{Any, Classified, General, Get, Keyed, Setup, TestPool};
pub use self::spy::{Event, Spy, Told};
pub use self::workers::{Callback, Factory, Outcome, Script, TestWorker, WorkerState};

/// The key or class that a test uses where one is enough.
pub const ONE: u32 = 1;

/// Far beyond what any law needs. A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Lets the tasks that others have spawned do what there is to do now.
pub async fn let_tasks_run() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Runs a law to its end on a paused runtime of its own, and fails if it does not come to one.
pub fn watched<F: Future<Output = ()>>(law: impl FnOnce() -> F + Send + 'static) {
    in_time(move || paused_runtime().block_on(law()));
}

pub fn paused_runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// Runs a law to its end on a thread of its own, and fails if it does not come to one.
pub fn in_time(law: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let test = thread::spawn(move || {
        law();
        let _ = done.send(());
    });
    match is_done.recv_timeout(PATIENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs: no end after {PATIENCE:?}"),
        _ => {
            if let Err(panic) = test.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Runs a law in a process of its own, so that an abort is seen, and fails `test` alone.
pub fn in_own_process(test: &str, law: impl FnOnce()) {
    const INSIDE: &str = "SFO_POOL_TEST_IN_OWN_PROCESS";
    if std::env::var_os(INSIDE).is_some() {
        return law();
    }
    let output = std::process::Command::new(std::env::current_exe().expect("the test itself"))
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("the test runs once more");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let complained = &complained[complained.len().saturating_sub(2000)..];
    let passed = output.status.success() && said.contains(" 1 passed");
    assert!(passed, "{test}: {}\n{said}\n{complained}", output.status);
    print!("{said}");
}

/// Runs `act`, and returns the message of its panic, which ends here.
pub fn panic_of(act: impl FnOnce()) -> Option<String> {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).err()?;
    let message = panic.downcast_ref::<&str>().map(|message| String::from(*message));
    message.or_else(|| panic.downcast_ref::<String>().cloned()).or(Some(String::new()))
}

/// Makes each law a test on each pool that it names: `fn law<P: TestPool>() on General, Keyed {…}`.
#[macro_export]
macro_rules! laws {
    ($($(#[$meta:meta])* async fn $law:ident<$pool:ident: TestPool $(+ $more:path)*>() on $($on:ident),+ $body:block)+) => {
        $(
            $(#[$meta])*
            mod $law {
                use super::*;

                async fn law<$pool: TestPool $(+ $more)*>() $body

                $(
                    #[test]
                    #[allow(non_snake_case)]
                    fn $on() {
                        watched(law::<$crate::common::$on>);
                    }
                )+
            }
        )+
    };
}
