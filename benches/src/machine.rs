//! On what, and of what, it was measured.

use std::fs;
use std::thread;

const LOCK: &str = include_str!("../Cargo.lock");
const NAMED: [&str; 6] = ["sfo-pool", "deadpool", "bb8", "mobc", "fast_pool", "tokio"];

pub fn description() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let versions: Vec<_> = NAMED.iter().flat_map(|name| versions(name)).collect();
    let command: Vec<_> = std::env::args().skip(1).collect();
    format!(
        "- machine: {}, {cores} cores\n- compiler: {}\n- crates: {}\n- command: `{} {}`\n",
        processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        env!("RUSTC_VERSION"),
        versions.join(", "),
        "cargo run --release --manifest-path benches/Cargo.toml --",
        command.join(" "),
    )
}

fn processor() -> Option<String> {
    let description = fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = description.lines().find(|line| line.starts_with("model name"))?;
    Some(model.split_once(": ")?.1.to_owned())
}

fn versions(name: &str) -> Vec<String> {
    let head = format!("name = \"{name}\"\nversion = \"");
    let versions = LOCK.split(&head).skip(1).filter_map(|rest| rest.split('"').next());
    versions.map(|version| format!("{name} {version}")).collect()
}
