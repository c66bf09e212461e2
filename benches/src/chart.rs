//! Draws what was measured.

use crate::contenders::{DEADPOOL, KD, OURS, PUBLISHED};
use crate::harness::Outcome;
use crate::report::{grouped, sizes, title};
use crate::scenarios::Scenario;

/// Of middle lightness, as the style is: legible on light and dark grounds.
const COLOURS: [(&str, &str); 7] = [
    (OURS, "#2e9e5b"),
    (PUBLISHED, "#d9603b"),
    (DEADPOOL, "#4b83d6"),
    (KD, "#7f8fb0"),
    ("bb8", "#a568c9"),
    ("mobc", "#c99a2e"),
    ("fast_pool", "#3aa6a6"),
];

const STYLE: &str = "<style>\
text { font: 12px sans-serif; fill: #7a7a7a; } \
line { stroke: #888; stroke-opacity: 0.5; }\
</style>\n";

fn colour(name: &str) -> Option<&'static str> {
    COLOURS.iter().find(|(named, _)| *named == name).map(|&(_, colour)| colour)
}

fn svg(width: f64, height: f64, content: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n{STYLE}{content}</svg>\n"
    )
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n")
}

/// Maps values to places, ten times as much to the same distance everywhere.
#[derive(Clone, Copy)]
struct Axis {
    /// Powers of ten.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil();
        Self { low, high: high.max(low + 1.0), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.log10() - self.low) / (self.high - self.low);
        self.from + part * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power))
    }
}

fn tick_label(tick: f64) -> String {
    if tick < 1.0 { tick.to_string() } else { grouped(tick as u64) }
}

/// How long the others take beside ours: one group for each scenario, at its largest size.
pub fn bars(scenarios: &[&Scenario], outcomes: &[Outcome]) -> String {
    const BAR: f64 = 11.0;
    const TOP: f64 = 60.0;
    const HEADING: &str =
        "Time beside ours, logarithmic: whatever is to the right of 1 takes longer";

    let groups: Vec<_> = scenarios
        .iter()
        .filter_map(|scenario| Some((scenario, headline(scenario.id, outcomes)?)))
        .filter(|(_, outcome)| !outcome.case.is_ratio_to_ours)
        .map(|(scenario, outcome)| (scenario, outcome, others(outcome)))
        .filter(|(_, _, others)| !others.is_empty())
        .collect();
    let ratios = groups.iter().flat_map(|(_, _, others)| others.iter().map(|other| other.1));
    if groups.is_empty() {
        return svg(1.0, 1.0, "");
    }
    let axis = Axis::over(ratios.chain([1.0]), 420.0, 900.0);

    let mut content = text(10.0, 20.0, "start", HEADING);
    let mut x = 10.0;
    for (name, colour) in &COLOURS[1..] {
        content +=
            &format!("<rect x=\"{x}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\n");
        content += &text(x + 14.0, 39.0, "start", name);
        x += 85.0;
    }

    let mut y = TOP;
    let mut drawn = String::new();
    for (scenario, outcome, others) in groups {
        let label = format!("{}: {}", title(&outcome.case), scenario.title);
        drawn += &text(10.0, y + 10.0, "start", &label);
        y += 15.0;
        for (name, ratio) in others {
            let (zero, end) = (axis.place(1.0), axis.place(ratio));
            let (left, width) = (zero.min(end), (end - zero).abs());
            let colour = colour(name).unwrap_or("#888");
            drawn += &format!(
                "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\"/>\n",
                BAR - 1.0
            );
            drawn += &text(zero.max(end) + 4.0, y + BAR - 1.0, "start", &times(ratio));
            y += BAR + 2.0;
        }
        y += 6.0;
    }
    for tick in axis.ticks() {
        let x = axis.place(tick);
        content += &line(x, TOP - 5.0, x, y);
        content += &text(x, y + 15.0, "middle", &tick_label(tick));
    }
    svg(960.0, y + 25.0, &(content + &drawn))
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { grouped(ratio.round() as u64) }
}

/// The largest size, on as few threads as there are.
fn headline<'a>(scenario: &str, outcomes: &'a [Outcome]) -> Option<&'a Outcome> {
    let cases = || outcomes.iter().filter(|outcome| outcome.case.scenario == scenario);
    let threads = cases().map(|outcome| outcome.case.threads).min()?;
    cases().rfind(|outcome| outcome.case.threads == threads)
}

fn others(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let Some(ours) = outcome.score(OURS) else { return Vec::new() };
    let others = outcome.scores.iter().filter(|score| score.name != OURS);
    let others = others.filter(|score| colour(score.name).is_some());
    others.filter_map(|score| Some((score.name, score.ratio_to(ours)?))).collect()
}

/// How cost grows with size, ours and the published crate's: one panel for each scenario.
pub fn growth(scenarios: &[&Scenario], outcomes: &[Outcome]) -> String {
    const SCENARIOS: [&str; 5] = ["S4", "S5", "S6b", "S7a", "S8"];
    const WIDTH: f64 = 360.0;
    const HEIGHT: f64 = 290.0;

    let drawn: Vec<_> = scenarios
        .iter()
        .filter(|scenario| SCENARIOS.contains(&scenario.id))
        .filter_map(|scenario| Some((scenario, Curves::of(scenario.id, outcomes)?)))
        .collect();
    let mut content = String::new();
    for (index, (scenario, curves)) in drawn.iter().enumerate() {
        let (column, row) = ((index % 3) as f64, (index / 3) as f64);
        let heading = format!("{}: {}", scenario.id, scenario.title);
        content += &format!("<g transform=\"translate({} {})\">\n", column * WIDTH, row * HEIGHT);
        content += &text(10.0, 16.0, "start", &heading);
        content += &curves.draw();
        content += "</g>\n";
    }
    let (columns, rows) = (drawn.len().min(3) as f64, drawn.len().div_ceil(3) as f64);
    svg((columns * WIDTH).max(1.0), (rows * HEIGHT).max(1.0), &content)
}

struct Curves {
    unit: &'static str,
    /// Each a row of sizes and times.
    curves: Vec<(&'static str, Vec<(f64, f64)>)>,
}

impl Curves {
    fn of(scenario: &str, outcomes: &[Outcome]) -> Option<Self> {
        let unit = sizes(scenario, outcomes).next()?.case.size?.of;
        let curve = |name| {
            let point = |outcome: &Outcome| {
                let nanos = outcome.score(name)?.nanos()?.median;
                Some((outcome.case.size?.count as f64, nanos))
            };
            (name, sizes(scenario, outcomes).filter_map(point).collect::<Vec<_>>())
        };
        let curves: Vec<_> = [OURS, PUBLISHED].map(curve).into();
        curves.iter().all(|(_, points)| !points.is_empty()).then_some(Self { unit, curves })
    }

    /// Beside the end of each curve, but far enough from each other to be read.
    fn names(&self, sizes: &Axis, times: &Axis) -> Vec<(&'static str, f64, f64)> {
        const LINE: f64 = 13.0;
        let end = |(name, points): &(&'static str, Vec<(f64, f64)>)| {
            let &(size, time) = points.last()?;
            Some((*name, sizes.place(size), times.place(time)))
        };
        let mut names: Vec<_> = self.curves.iter().filter_map(end).collect();
        names.sort_by(|one, other| one.2.total_cmp(&other.2));
        for next in 1..names.len() {
            names[next].2 = names[next].2.max(names[next - 1].2 + LINE);
        }
        names
    }

    fn draw(&self) -> String {
        let points = || self.curves.iter().flat_map(|(_, points)| points);
        let sizes = Axis::over(points().map(|point| point.0), 85.0, 300.0);
        let times = Axis::over(points().map(|point| point.1), 240.0, 40.0);
        let mut drawn = String::new();
        for tick in sizes.ticks() {
            let x = sizes.place(tick);
            drawn += &line(x, times.from, x, times.to);
            drawn += &text(x, times.from + 16.0, "middle", &tick_label(tick));
        }
        for tick in times.ticks() {
            let y = times.place(tick);
            drawn += &line(sizes.from, y, sizes.to, y);
            drawn += &text(sizes.from - 4.0, y + 4.0, "end", &tick_label(tick));
        }
        drawn += &text(192.0, times.from + 34.0, "middle", &format!("ns by {}", self.unit));
        for (name, points) in &self.curves {
            let colour = colour(name).unwrap_or("#888");
            let places: Vec<_> =
                points.iter().map(|&(size, time)| (sizes.place(size), times.place(time))).collect();
            let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            drawn += &format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
                path.join(" ")
            );
            for (x, y) in &places {
                drawn +=
                    &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n");
            }
        }
        for (name, x, y) in self.names(&sizes, &times) {
            drawn += &text(x + 6.0, y + 4.0, "start", name);
        }
        drawn
    }
}
