//! `doc/observing.md`, as a test reads it.

/// The cells of the first column of a table in `doc/observing.md`, without their backticks, and of the
/// second.
pub fn table(heading: &str) -> Vec<(String, String)> {
    let page = include_str!("../../doc/observing.md");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
        (cells.nth(1).unwrap(), cells.next().unwrap())
    });
    cells.collect()
}
