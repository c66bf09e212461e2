use std::net::SocketAddr;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Flex, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row as TableRow, Table, Widget};

use crate::phase::Phase;
use crate::sample::{Row, Sample};

/// The size at which nothing is cut off.
pub const SIZE: Rect = Rect { x: 0, y: 0, width: 120, height: 24 };

const HEADINGS: [&str; 10] = [
    "pool",
    "limit",
    "total",
    "idle",
    "borrowed",
    "creating",
    "waiting",
    "wait p50",
    "wait p99",
    "acquired/s",
];
const WIDTHS: [u16; 10] = [11, 8, 6, 5, 9, 9, 8, 10, 10, 11];

/// The table, and what there is to say of each pool and of the run.
pub fn draw(area: Rect, buffer: &mut Buffer, sample: &Sample, address: SocketAddr) {
    let pools = sample.rows.len() as u16;
    let log = sample.log.len() as u16 + 2;
    let rows = [2, pools + 3, 2 * pools + 2, log].map(Constraint::Length);
    let [top, numbers, details, log] = Layout::vertical(rows).flex(Flex::Start).areas(area);
    head(sample, address).render(top, buffer);
    table(sample).render(numbers, buffer);
    about(sample).render(details, buffer);
    let lines: Vec<_> = sample.log.iter().map(|line| Line::from(line.as_str())).collect();
    Paragraph::new(lines).block(block("log, from WARN")).render(log, buffer);
}

/// The same as text.
pub fn text(sample: &Sample, address: SocketAddr) -> String {
    let mut buffer = Buffer::empty(SIZE);
    draw(SIZE, &mut buffer, sample, address);
    let mut text = String::new();
    for y in 0..SIZE.height {
        let line: String = (0..SIZE.width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn block(title: &str) -> Block<'_> {
    Block::bordered().border_style(Color::DarkGray).title(title.bold())
}

fn head(sample: &Sample, address: SocketAddr) -> Paragraph<'static> {
    let seconds = sample.elapsed.as_secs();
    let mut phases = vec![Span::from(format!(" {seconds:>3} s  "))];
    for phase in Phase::ALL {
        let style = if phase == sample.phase {
            Style::new().fg(Color::Black).bg(Color::Yellow).add_modifier(Modifier::BOLD)
        } else {
            Style::new().fg(Color::DarkGray)
        };
        // In brackets as well, for a text has no colors.
        let [open, close] = if phase == sample.phase { ["[", "]"] } else { [" ", " "] };
        phases.push(Span::styled(format!("{open}{}{close}", phase.name()), style));
    }
    let metrics = Line::from(format!(" http://{address}/metrics   q ends"));
    Paragraph::new(vec![Line::from(phases), metrics.fg(Color::Cyan)])
}

fn table(sample: &Sample) -> Table<'static> {
    let heading = HEADINGS.into_iter().enumerate().map(|(column, heading)| {
        let alignment = if column == 0 { Alignment::Left } else { Alignment::Right };
        Cell::from(Line::from(heading).alignment(alignment).bold())
    });
    Table::new(sample.rows.iter().map(numbers), WIDTHS.map(Constraint::Length))
        .header(TableRow::new(heading))
        .block(block("pools"))
}

fn numbers(row: &Row) -> TableRow<'static> {
    let status = &row.status;
    let is_exhausted = status.waiting > 0;
    let plain = Style::new();
    let alarm = if is_exhausted { plain.fg(Color::Red).bold() } else { plain };
    let right = |text: String, style| {
        Cell::from(Line::from(Span::styled(text, style)).alignment(Alignment::Right))
    };
    TableRow::new([
        Cell::from(row.name.fg(Color::Green)),
        right(row.limit.clone(), plain),
        right(status.total.to_string(), plain),
        right(status.idle.to_string(), plain),
        right(status.borrowed.to_string(), plain),
        right(status.creating.to_string(), plain),
        right(status.waiting.to_string(), alarm),
        right(time(row.waits[0]), plain),
        right(time(row.waits[1]), plain),
        right(format!("{:.0}", row.acquired_per_second), plain),
    ])
}

fn about(sample: &Sample) -> Paragraph<'static> {
    let mut lines = Vec::new();
    for row in &sample.rows {
        let counts = row.destroyed.iter().map(|(reason, count)| format!("{reason} {count}"));
        let counts: Vec<_> = counts.collect();
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        lines.push(Line::from(vec![
            format!("{:<11}", row.name).fg(Color::Green),
            "destroyed    ".fg(Color::DarkGray),
            counts.into(),
        ]));
        lines.push(Line::from(vec![
            " ".repeat(11).into(),
            "longest out  ".fg(Color::DarkGray),
            longest(row).into(),
        ]));
    }
    Paragraph::new(lines).block(block("why workers went, and who holds one"))
}

fn longest(row: &Row) -> String {
    let Some(out) = &row.longest else { return "nobody".to_owned() };
    let mut text = time(Some(out.held));
    if let Some(label) = &out.label {
        text += &format!(", {label}");
    }
    if let Some(key) = &out.key {
        text += &format!(", {key}");
    }
    text + &format!(", {}:{}", out.place.file(), out.place.line())
}

fn time(time: Option<Duration>) -> String {
    match time {
        None => "-".to_owned(),
        Some(time) if time >= Duration::from_secs(1) => format!("{:.1} s", time.as_secs_f64()),
        Some(time) => format!("{:.1} ms", time.as_secs_f64() * 1e3),
    }
}
