//! The two READMEs say the same.

const ENGLISH: &str = include_str!("../README.md");
const CHINESE: &str = include_str!("../README.zh-CN.md");

/// What a translation leaves as it is: the rank of each heading, and its blocks of code.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Heading(usize),
    Code(Vec<&'a str>),
    TableRow(usize),
    ListItem,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| *line != "```");
            parts.push(Part::Code(std::iter::once(line).chain(code).collect()));
        } else if line.starts_with('#') {
            parts.push(Part::Heading(line.chars().take_while(|&c| c == '#').count()));
        } else if line.starts_with('|') {
            parts.push(Part::TableRow(line.matches('|').count()));
        } else if line.starts_with("- ") {
            parts.push(Part::ListItem);
        }
    }
    parts
}

/// Whatever stands in backticks: names, which no translation changes.
fn names(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let mut names: Vec<_> = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect();
    names.sort_unstable();
    names
}

#[test]
fn both_have_the_same_sections_tables_lists_and_code() {
    assert_eq!(parts(ENGLISH), parts(CHINESE));
}

#[test]
fn both_speak_of_the_same_names() {
    assert_eq!(names(ENGLISH), names(CHINESE));
}

#[test]
fn the_commands_for_a_newcomer_stand_in_both() {
    for text in [ENGLISH, CHINESE] {
        let commands = "\ncargo run --release --example quickstart\ncargo test --all-features\n";
        assert!(text.contains(commands));
    }
}
