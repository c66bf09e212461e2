use std::fmt::Write;

pub const FONT: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// Shapes and texts, in their order.
#[derive(Default)]
pub struct Svg(String);

impl Svg {
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: &str) {
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        ));
    }

    pub fn line(&mut self, points: &[(f64, f64)], stroke: &str, width: f64) {
        let mut path = String::new();
        for (x, y) in points {
            _ = write!(path, "{x:.1},{y:.1} ");
        }
        self.add(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{stroke}" stroke-width="{width}"/>"#,
            path.trim_end()
        ));
    }

    /// `anchor`: `start`, `middle` or `end`. `more`: further attributes.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, fill: &str, more: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.add(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{fill}"{more}>{text}</text>"#
        ));
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        _ = writeln!(self.0, "{shape}");
    }

    /// The whole file.
    pub fn finish(self, width: f64, height: f64, font_size: f64, background: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"{FONT}\" font-size=\"{font_size}\">\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{background}\"/>\n{}</svg>\n",
            self.0
        )
    }
}
