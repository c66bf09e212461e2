use crate::phase::Phase;
use crate::sample::{Row, Sample};
use crate::svg::Svg;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 62.0;
const PANEL: f64 = 120.0;
const GAP: f64 = 34.0;
const GREY: &str = "#57606a";
const INK: &str = "#1f2328";
const POOLS: [&str; 3] = ["#0969da", "#bc4c00", "#1a7f37"];
const BANDS: [&str; 2] = ["#ffffff", "#f3f5f7"];
/// Rates are means over so many samples.
const SMOOTH: usize = 4;

type Value = fn(&Row) -> f64;

const PANELS: [(&str, Value); 3] = [
    ("acquired per second", |row| row.acquired_per_second),
    ("borrowed workers", |row| row.status.borrowed as f64),
    ("requests waiting", |row| row.status.waiting as f64),
];

/// The course of a run: three panels over the same time, with the phases behind them.
pub fn draw(samples: &[Sample]) -> String {
    let height = TOP + PANELS.len() as f64 * (PANEL + GAP) + 16.0;
    let mut svg = Svg::default();
    let Some(last) = samples.last() else {
        return svg.finish(WIDTH, height, 12.0, BANDS[0]);
    };
    let end = last.elapsed.as_secs_f64().max(1.0);
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds / end;
    legend(&mut svg, last);
    phases(&mut svg, samples, end, x, height);
    for (number, (title, value)) in PANELS.into_iter().enumerate() {
        let top = TOP + number as f64 * (PANEL + GAP);
        panel(&mut svg, samples, (title, value), top, x);
    }
    // At most ten numbers, at round seconds.
    let step =
        [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 600.0].into_iter().find(|it| end / it <= 10.0);
    let step = step.unwrap_or(end);
    let mut second = 0.0;
    while second <= end {
        svg.text((x(second), height - 20.0), "middle", GREY, "", &format!("{second} s"));
        second += step;
    }
    svg.finish(WIDTH, height, 12.0, BANDS[0])
}

fn legend(svg: &mut Svg, sample: &Sample) {
    let mut left = LEFT;
    for (row, color) in sample.rows.iter().zip(POOLS) {
        svg.line(&[(left, 18.0), (left + 22.0, 18.0)], color, 2.5);
        svg.text((left + 28.0, 22.0), "start", INK, "", row.name);
        left += 130.0;
    }
}

/// A band for each phase, with its name above.
fn phases(svg: &mut Svg, samples: &[Sample], end: f64, x: impl Fn(f64) -> f64, height: f64) {
    let mut begins: Vec<(Phase, f64)> = Vec::new();
    for sample in samples {
        if begins.last().is_none_or(|(phase, _)| *phase != sample.phase) {
            begins.push((sample.phase, sample.elapsed.as_secs_f64()));
        }
    }
    for (number, &(phase, begin)) in begins.iter().enumerate() {
        let stop = begins.get(number + 1).map_or(end, |next| next.1);
        let (left, right) = (x(begin), x(stop));
        svg.rect([left, 34.0, right - left, height - 72.0], BANDS[(number + 1) % 2]);
        // A name that has no room would cover its neighbours.
        if right - left > 7.4 * phase.name().len() as f64 {
            svg.text(((left + right) / 2.0, 48.0), "middle", GREY, "", phase.name());
        }
    }
}

fn panel(
    svg: &mut Svg,
    samples: &[Sample],
    (title, value): (&str, Value),
    top: f64,
    x: impl Fn(f64) -> f64,
) {
    let values = |pool: usize| -> Vec<f64> {
        let raw: Vec<f64> = samples.iter().map(|sample| value(&sample.rows[pool])).collect();
        let mean = |at: usize| {
            let window = &raw[at.saturating_sub(SMOOTH - 1)..=at];
            window.iter().sum::<f64>() / window.len() as f64
        };
        (0..raw.len()).map(mean).collect()
    };
    let lines: Vec<Vec<f64>> = (0..POOLS.len()).map(values).collect();
    let most = lines.iter().flatten().copied().fold(1.0, f64::max);
    let ceiling = round_up(most);
    let y = |value: f64| top + 18.0 + (PANEL - 18.0) * (1.0 - value / ceiling);
    svg.text((LEFT, top + 8.0), "start", INK, r#" font-weight="bold""#, title);
    for part in [0.0, 0.5, 1.0] {
        let level = y(ceiling * part);
        svg.line(&[(LEFT, level), (WIDTH - RIGHT, level)], "#d0d7de", 0.8);
        svg.text((LEFT - 8.0, level + 4.0), "end", GREY, "", &format!("{}", ceiling * part));
    }
    for (line, color) in lines.iter().zip(POOLS) {
        let at = samples.iter().map(|sample| x(sample.elapsed.as_secs_f64()));
        let points: Vec<_> = at.zip(line.iter().map(|&value| y(value))).collect();
        svg.line(&points, color, 1.8);
    }
}

/// To a number that people like to read, whose half they like as well.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|&step| step >= value).unwrap_or(value)
}
