//! Says in Markdown what was measured.

use crate::contenders::{DEADPOOL, KD, OURS, PUBLISHED};
use crate::harness::{Case, Outcome, Score, Target};
use crate::scenarios::Scenario;
use crate::stage::PATIENCE;

pub const HEADER: &str = "\
| scenario | contender | rounds | median ns | quartiles | × 0.4.1 | × deadpool, KD | figure | target |
|---|---|---:|---:|---:|---:|---:|---:|---|
";

/// A row for each contender.
pub fn rows(outcome: &Outcome) -> String {
    outcome.scores.iter().map(|score| row(outcome, score)).collect()
}

fn row(outcome: &Outcome, score: &Score) -> String {
    let (median, quartiles) = match score.nanos() {
        Some(nanos) => {
            (number(nanos.median), format!("{} – {}", number(nanos.low), number(nanos.high)))
        }
        None => (format!("over {} s", PATIENCE.as_secs()), String::new()),
    };
    let ratio = |other: Option<&Score>| {
        let ratio = other.and_then(|other| score.ratio_to(other));
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
    };
    let name = if score.name == OURS { "**ours**" } else { score.name };
    format!(
        "| {} | {name} | {} | {median} | {quartiles} | {} | {} | {} | {} |\n",
        title(&outcome.case),
        score.rounds(),
        ratio(outcome.score(PUBLISHED)),
        ratio(outcome.score(DEADPOOL).or_else(|| outcome.score(KD))),
        figure(outcome, score),
        if score.name == OURS { targets(outcome, score) } else { String::new() },
    )
}

pub fn title(case: &Case) -> String {
    let mut title = case.scenario.to_owned();
    if let Some(size) = case.size {
        title += &format!(", {} {}", grouped(size.count as u64), size.of);
    }
    if case.threads > 1 {
        title += &format!(", {} threads", case.threads);
    }
    title
}

fn figure(outcome: &Outcome, score: &Score) -> String {
    if outcome.case.is_ratio_to_ours {
        let ratio = outcome.score(OURS).and_then(|ours| score.ratio_to(ours));
        return ratio.map_or_else(String::new, |ratio| format!("{ratio:.2} × ours"));
    }
    match outcome.case.figure.and(score.figure) {
        Some(figure) if figure.is_infinite() => "∞".to_owned(),
        Some(figure) => format!("{figure:.2}"),
        None => String::new(),
    }
}

fn targets(outcome: &Outcome, ours: &Score) -> String {
    let said: Vec<_> =
        outcome.case.targets.iter().filter_map(|target| said(target, outcome, ours)).collect();
    said.join("; ")
}

fn said(target: &Target, outcome: &Outcome, ours: &Score) -> Option<String> {
    let (wanted, reached) = match *target {
        Target::Beside { rival, at_most } => {
            (format!("≤ {at_most} × {rival}"), ours.ratio_to(outcome.score(rival)?)? <= at_most)
        }
        Target::Nanos { at_most } => {
            (format!("≤ {} ns", number(at_most)), ours.nanos()?.median <= at_most)
        }
        Target::Figure { at_most } => {
            (format!("{} ≤ {at_most}", outcome.case.figure?), ours.figure? <= at_most)
        }
    };
    Some(format!("{wanted}: {}", verdict(reached)))
}

fn verdict(reached: bool) -> &'static str {
    if reached { "met" } else { "**missed**" }
}

/// How the cost grows from the smallest size to the largest, on one thread.
pub fn growth(scenarios: &[&Scenario], outcomes: &[Outcome]) -> String {
    let rows: String =
        scenarios.iter().filter_map(|scenario| growth_row(scenario, outcomes)).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("\n{GROWTH_HEADER}{rows}")
}

const GROWTH_HEADER: &str = "\
| growth | to | ours | 0.4.1 | deadpool, KD | target |
|---|---:|---:|---:|---:|---|
";

fn growth_row(scenario: &Scenario, outcomes: &[Outcome]) -> Option<String> {
    let at_most = scenario.growth?;
    let sizes: Vec<_> = sizes(scenario.id, outcomes).collect();
    let [smallest, .., largest] = sizes[..] else { return None };
    let grown = |name| {
        let from = smallest.score(name)?.nanos()?.median;
        Some(largest.score(name)?.nanos()?.median / from)
    };
    let ours = grown(OURS)?;
    let shown = |grown: Option<f64>| grown.map_or_else(String::new, |grown| format!("{grown:.2}"));
    Some(format!(
        "| {} | {} | {ours:.2} | {} | {} | ≤ {at_most}: {} |\n",
        title(&smallest.case),
        grouped(largest.case.size?.count as u64),
        shown(grown(PUBLISHED)),
        shown(grown(DEADPOOL).or_else(|| grown(KD))),
        verdict(ours <= at_most),
    ))
}

/// The cases of a scenario on one thread that have a size, in the order of their sizes.
pub fn sizes<'a>(scenario: &str, outcomes: &'a [Outcome]) -> impl Iterator<Item = &'a Outcome> {
    outcomes.iter().filter(move |Outcome { case, .. }| {
        case.scenario == scenario && case.threads == 1 && case.size.is_some()
    })
}

/// Three digits that count, or all of those before the point.
fn number(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

pub fn grouped(value: u64) -> String {
    if value < 1_000 {
        return value.to_string();
    }
    format!("{},{:03}", grouped(value / 1_000), value % 1_000)
}
