//! Notes the compiler that builds the benchmark.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").expect("cargo names the compiler");
    let version = Command::new(rustc).arg("-V").output().expect("the compiler runs").stdout;
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rustc-env=RUSTC_VERSION={}", String::from_utf8_lossy(&version).trim());
}
