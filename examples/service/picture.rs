use std::net::SocketAddr;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::sample::Sample;
use crate::svg::Svg;
use crate::table;

const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
const BACKGROUND: &str = "#16191f";

/// The table as a terminal shows it.
pub fn draw(sample: &Sample, address: SocketAddr) -> String {
    let rows = table::text(sample, address).lines().count() as u16;
    let area = Rect { height: rows, ..table::SIZE };
    let mut buffer = Buffer::empty(area);
    table::draw(area, &mut buffer, sample, address);

    let mut svg = Svg::default();
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            // Cells of one style are one text, whose length is fixed, whatever font there is.
            let first = &buffer[(x, y)];
            let mut text = String::new();
            let begin = x;
            while x < area.width && buffer[(x, y)].style() == first.style() {
                text.push_str(buffer[(x, y)].symbol());
                x += 1;
            }
            run(&mut svg, (begin, y), x - begin, &text, first.style());
        }
    }
    let width = f64::from(area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(area.height) * CELL.1 + 2.0 * MARGIN;
    svg.finish(width, height, 14.0, BACKGROUND)
}

fn run(svg: &mut Svg, (x, y): (u16, u16), cells: u16, text: &str, style: ratatui::style::Style) {
    let left = MARGIN + f64::from(x) * CELL.0;
    let top = MARGIN + f64::from(y) * CELL.1;
    let width = f64::from(cells) * CELL.0;
    if let Some(color) = style.bg.filter(|color| *color != Color::Reset) {
        svg.rect([left, top, width, CELL.1], of(color));
    }
    if text.trim().is_empty() {
        return;
    }
    let bold = style.add_modifier.contains(Modifier::BOLD);
    let weight = if bold { r#" font-weight="bold""# } else { "" };
    let more = format!(
        r#" xml:space="preserve" textLength="{width:.1}" lengthAdjust="spacingAndGlyphs"{weight}"#
    );
    svg.text((left, top + 13.5), "start", of(style.fg.unwrap_or(Color::Reset)), &more, text);
}

fn of(color: Color) -> &'static str {
    match color {
        Color::Black => "#16191f",
        Color::DarkGray => "#7d8590",
        Color::Red => "#ff7b72",
        Color::Green => "#7ee787",
        Color::Yellow => "#e3b341",
        Color::Cyan => "#79c0ff",
        _ => "#dfe3e8",
    }
}
