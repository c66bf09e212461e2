use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use sfo_pool_benches::harness::Harness;
use sfo_pool_benches::scenarios::{self, Scenario};
use sfo_pool_benches::{chart, machine, report};

const USAGE: &str = "\
usage: cargo run --release --manifest-path benches/Cargo.toml -- [OPTIONS]

  --quick       less of everything: proves that it works, says little about time
  --only IDS    some scenarios, such as S1,S6a or M
  --rounds N    how often each contender is measured
  --out DIR     writes the table and the pictures there
";

/// Memory is measured by a program of its own: the allocator that counts would cost time here.
const MEMORY: &str = "M";

#[derive(Default)]
struct Options {
    is_quick: bool,
    only: Option<Vec<String>>,
    rounds: Option<usize>,
    out: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => options.is_quick = true,
                "--only" => options.only = Some(ids(&arguments.next()?)?),
                "--rounds" => options.rounds = Some(arguments.next()?.parse().ok()?),
                "--out" => options.out = Some(arguments.next()?.into()),
                _ => return None,
            }
        }
        Some(options)
    }

    fn wants(&self, id: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == id))
    }
}

fn ids(list: &str) -> Option<Vec<String>> {
    let exists = |id: &str| id == MEMORY || scenarios::ALL.iter().any(|known| known.id == id);
    list.split(',').map(|id| exists(id).then(|| id.to_owned())).collect()
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprint!("{USAGE}");
        return ExitCode::FAILURE;
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    let machine = machine::description();
    print!("{machine}\n{}", report::HEADER);
    let mut harness = Harness::new(options.is_quick, options.rounds);
    let chosen: Vec<&Scenario> =
        scenarios::ALL.iter().filter(|scenario| options.wants(scenario.id)).collect();
    for scenario in &chosen {
        (scenario.run)(&mut harness);
    }
    let outcomes = &harness.outcomes;
    let mut tail = report::growth(&chosen, outcomes);
    if options.wants(MEMORY) {
        tail += &memory()?;
    }
    print!("{tail}");

    let Some(out) = &options.out else { return Ok(()) };
    fs::create_dir_all(out)?;
    let rows: String = outcomes.iter().map(report::rows).collect();
    fs::write(out.join("results.md"), format!("{machine}\n{}{rows}{tail}", report::HEADER))?;
    fs::write(out.join("ratios.svg"), chart::bars(&chosen, outcomes))?;
    fs::write(out.join("growth.svg"), chart::growth(&chosen, outcomes))
}

fn memory() -> io::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--manifest-path", manifest, "--bin", "memory"])
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(format!("\n{}", String::from_utf8_lossy(&output.stdout)))
}
