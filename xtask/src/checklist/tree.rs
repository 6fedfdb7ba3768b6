//! Where in the checkout a test lies.

use super::source::TestName;
use crate::test::announce::{EXECUTABLE, LIBRARY};
use crate::tidy::Source;
use std::collections::HashMap;
use toml::Table;

/// The files of the checkout by path, and the folders of its packages by name.
pub(super) struct Tree<'a> {
    files: HashMap<&'a str, &'a str>,
    packages: HashMap<String, &'a str>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(sources: &'a [Source]) -> Self {
        let files = sources.iter().map(|source| (&*source.path, &*source.text)).collect();
        let manifests = sources.iter().filter(|source| source.is_manifest());
        let packages = manifests.filter_map(|source| {
            let manifest: Table = source.text.parse().ok()?;
            let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
            Some((name, source.path.strip_suffix("/Cargo.toml")?))
        });
        Self { files, packages: packages.collect() }
    }

    /// The path of the file that has the test, or why there is none.
    pub(super) fn find(&self, test: &TestName) -> Result<String, String> {
        let folder = self.packages.get(&test.package);
        let folder = folder.ok_or_else(|| format!("there is no package `{}`", test.package))?;
        let tests = format!("{folder}/tests");
        let candidates = match &*test.target {
            LIBRARY => vec![(format!("{folder}/src"), format!("{folder}/src/lib.rs"))],
            EXECUTABLE => vec![(format!("{folder}/src"), format!("{folder}/src/main.rs"))],
            name => vec![
                (tests.clone(), format!("{tests}/{name}.rs")),
                (format!("{tests}/{name}"), format!("{tests}/{name}/main.rs")),
            ],
        };
        // The file, and the folder in which its modules lie.
        let root = candidates.into_iter().find(|(_, file)| self.files.contains_key(&**file));
        let (mut modules, mut file) =
            root.ok_or_else(|| format!("`{}` has no target `{}`", test.package, test.target))?;
        for module in &test.modules {
            let inner = format!("{modules}/{module}");
            let found = [format!("{inner}.rs"), format!("{inner}/mod.rs")]
                .into_iter()
                .find(|file| self.files.contains_key(&**file));
            // A module without a file stands in the file that it belongs to.
            file = found.unwrap_or(file);
            modules = inner;
        }
        let code = self.files.get(&*file).copied().unwrap_or_default();
        if has_test(code, &test.name) { Ok(file) } else { Err(format!("is not in {file}")) }
    }
}

/// Whether a function of that name stands below an attribute that makes it a test.
fn has_test(code: &str, name: &str) -> bool {
    let start = format!("fn {name}(");
    let lines: Vec<_> = code.lines().map(str::trim).collect();
    let is_start = |line: &str| line.strip_prefix("async ").unwrap_or(line).starts_with(&start);
    let starts = (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| is_start(line)));
    starts.into_iter().any(|at| {
        let above = lines.iter().take(at).rev().take_while(|line| !["", "}"].contains(line));
        above
            .into_iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn tree() -> Vec<Source> {
        vec![
            source("store/Cargo.toml", "[package]\nname = \"the-store\"\n"),
            source("store/src/lib.rs", "mod lease;\n"),
            source(
                "store/src/lease.rs",
                "mod tests {\n    #[test]\n    fn it_ends() {}\n\n    fn helper() {}\n}\n",
            ),
            source("store/tests/one.rs", "#[test]\n// S1\nfn it_starts() {}\n"),
            source("store/tests/all/main.rs", "mod rescue;\nmod support;\n"),
            source(
                "store/tests/all/rescue.rs",
                "#[tokio::test(flavor = \"multi_thread\")]\nasync fn it_is_rescued() {}\n",
            ),
            source("store/tests/all/support/mod.rs", "fn it_helps() {}\n"),
        ]
    }

    fn find(name: &str) -> Result<String, String> {
        Tree::new(&tree()).find(&TestName::try_from(name.to_owned()).unwrap())
    }

    #[test]
    fn tests_are_found_wherever_cargo_finds_them() {
        let file = |name| find(name).unwrap();
        assert_eq!(file("the-store::lib::lease::tests::it_ends"), "store/src/lease.rs");
        assert_eq!(file("the-store::one::it_starts"), "store/tests/one.rs");
        assert_eq!(file("the-store::all::rescue::it_is_rescued"), "store/tests/all/rescue.rs");
    }

    #[test]
    fn what_is_no_test_is_not_found() {
        let why = |name| find(name).unwrap_err();
        assert_eq!(why("the-store::lib::lease::tests::helper"), "is not in store/src/lease.rs");
        assert_eq!(why("the-store::all::rescue::gone"), "is not in store/tests/all/rescue.rs");
        assert!(find("the-store::all::support::it_helps").is_err());
        assert_eq!(why("the-store::none::it_starts"), "`the-store` has no target `none`");
        assert_eq!(why("a-store::one::it_starts"), "there is no package `a-store`");
    }
}
