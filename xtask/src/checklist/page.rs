//! What `docs/checklist.md` says.

use super::source::{Checklist, Row, Status};
use super::tree::Tree;
use std::fmt::Write as _;

/// How the page starts.
const HEAD: &str = "\
<!-- Written by `cargo xtask checklist` from docs/checklist.toml. Changes belong there. -->

# Checklist

What Cofferdam does when something fails, row by row, with the tests that show it. The page is made from [checklist.toml](checklist.toml) by `cargo xtask checklist`. `cargo xtask tidy` fails when the two differ or a test is not in the tree; `cargo xtask test` fails when one of the tests did not run and pass. [recovery.md](recovery.md) explains how it all works together.
";

/// The page, or the tests that are not where the rows say.
pub(super) fn render(checklist: &Checklist, tree: &Tree<'_>) -> Result<String, Vec<String>> {
    let mut problems = Vec::new();
    let mut page = HEAD.to_owned();
    let done = checklist.rows().filter(|row| row.status == Status::Done).count();
    let later = checklist.rows().count() - done;
    let _ = writeln!(page, "\n{done} rows are done, {later} come later.");
    for group in &checklist.groups {
        let _ = writeln!(page, "\n## {}\n\n| row | what it means here | shown by |", group.title);
        page.push_str("|---|---|---|\n");
        for row in &group.rows {
            let shown = shown(row, tree, &mut problems);
            let _ = writeln!(page, "| {} | {} | {shown} |", row.id, cell(&row.means));
        }
    }
    if problems.is_empty() { Ok(page) } else { Err(problems) }
}

fn shown(row: &Row, tree: &Tree<'_>, problems: &mut Vec<String>) -> String {
    if let Some(reason) = &row.reason {
        return format!("*later:* {}", cell(reason));
    }
    let mut links = Vec::new();
    for test in &row.tests {
        match tree.find(test) {
            Ok(file) => links.push(format!("[{}](../{file})", test.name)),
            Err(problem) => problems.push(format!("{}: {test}: {problem}", row.id)),
        }
    }
    links.join(", ")
}

/// A text that does not end the cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn render_with(test: &str) -> Result<String, Vec<String>> {
        let list = format!(
            "[[group]]\ntitle = \"Leases\"\n\
             [[group.row]]\nid = \"S1\"\nmeans = \"Either | or.\"\nstatus = \"done\"\n\
             tests = [\"{test}\"]\n\
             [[group.row]]\nid = \"S2\"\nmeans = \"More.\"\nstatus = \"later\"\n\
             reason = \"There are no workflows.\"\n"
        );
        let checklist: Checklist = toml::from_str(&list).unwrap();
        let sources = [
            source("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            source("a/tests/t.rs", "#[test]\nfn it_holds() {}\n"),
        ];
        render(&checklist, &Tree::new(&sources))
    }

    #[test]
    fn rows_link_to_the_files_of_their_tests() {
        let page = render_with("a::t::it_holds").unwrap();
        assert!(page.contains("\n1 rows are done, 1 come later.\n\n## Leases\n"), "{page}");
        let rows = "| S1 | Either \\| or. | [it_holds](../a/tests/t.rs) |\n\
                    | S2 | More. | *later:* There are no workflows. |\n";
        assert!(page.ends_with(rows), "{page}");
    }

    #[test]
    fn a_test_that_is_not_there_is_named_with_its_row() {
        let problems = render_with("a::t::it_breaks").unwrap_err();
        assert_eq!(problems, ["S1: a::t::it_breaks: is not in a/tests/t.rs"]);
    }
}
