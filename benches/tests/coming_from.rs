//! What `doc/coming-from.md` shows of the others is what is compiled here.

use std::fs;
use std::path::Path;

#[test]
fn the_code_of_the_others_is_that_of_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../doc/coming-from.md")).expect("the page");
    let shown: Vec<_> = page
        .split("```rust,ignore\n")
        .skip(1)
        .map(|rest| rest.split("```\n").next().expect("a block has an end"))
        .collect();
    let examples = ["from_deadpool", "from_bb8", "from_sqlx"];
    let compiled = examples.map(|name| {
        fs::read_to_string(root.join(format!("examples/{name}.rs"))).expect("an example")
    });
    assert_eq!(shown, compiled);
}
