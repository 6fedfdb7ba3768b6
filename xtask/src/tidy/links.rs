//! Links from one page to another file of the project.

use super::{Finding, Source};
use std::path::Path;

pub(super) fn check(source: &Source, root: &Path, findings: &mut Vec<Finding>) {
    if !source.is_markdown() {
        return;
    }
    let page = root.join(&source.path);
    let folder = page.parent().unwrap_or(root);
    let mut fenced = false;
    for (line, text) in (1..).zip(source.text.lines()) {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in targets(text) {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !path.is_empty() && !folder.join(path).exists() {
                findings.push(Finding::new(source, line, format!("nothing is at `{target}`")));
            }
        }
    }
}

/// The targets of the links in a line: `[text](target "title")`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[test]
    fn links_to_nowhere_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("there.md"), "").unwrap();
        let text = "[a](there.md#part) [b](gone.md)\n[c](https://x.example/y) [d](#here)\n\
                    ```\n[e](gone.md)\n```\n";

        let mut findings = Vec::new();
        check(&source("README.md", text), folder.path(), &mut findings);

        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, "nothing is at `gone.md`");
    }
}
