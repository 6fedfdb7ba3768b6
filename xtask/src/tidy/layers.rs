//! Which crate may know which.

use super::{Finding, Source};
use anyhow::{Context, Result};
use toml::Table;

/// What each of our crates may depend on of ours, for other than tests. Nothing may depend on
/// what is not listed here.
const LAYERS: [(&str, &[&str]); 15] = [
    ("cofferdam-core", &[]),
    ("cofferdam-model", &["cofferdam-core"]),
    ("cofferdam-localpg", &[]),
    ("cofferdam-store", &["cofferdam-core"]),
    ("cofferdam-sandbox", &["cofferdam-core"]),
    ("cofferdam-runner", &["cofferdam-core", "cofferdam-sandbox", "cofferdam-store"]),
    ("cofferdam-api", &["cofferdam-core", "cofferdam-runner", "cofferdam-store"]),
    (
        "cofferdam",
        &[
            "cofferdam-api",
            "cofferdam-core",
            "cofferdam-localpg",
            "cofferdam-runner",
            "cofferdam-sandbox",
            "cofferdam-store",
        ],
    ),
    (
        "cofferdam-testkit",
        &[
            "cofferdam-core",
            "cofferdam-localpg",
            "cofferdam-runner",
            "cofferdam-sandbox",
            "cofferdam-store",
        ],
    ),
    (
        "cofferdam-bench",
        &[
            "cofferdam-core",
            "cofferdam-localpg",
            "cofferdam-runner",
            "cofferdam-sandbox",
            "cofferdam-store",
        ],
    ),
    ("cofferdam-chaos", &["cofferdam-localpg", "cofferdam-testkit"]),
    ("cofferdam-fuzz", &["cofferdam-api", "cofferdam-core", "cofferdam-sandbox"]),
    ("cofferdam-guest-macros", &[]),
    ("cofferdam-guest", &["cofferdam-guest-macros"]),
    ("xtask", &["cofferdam-localpg"]),
];

/// Handlers know the SDK and nothing of the host.
const HANDLER: &[&str] = &["cofferdam-guest"];

/// Crates of others that only some of ours may use, for tests too: a crate, or with a `*` at its
/// end all whose names start so.
const OWNED: [(&str, &[&str]); 3] = [
    // The chaos suite reads rows past the platform that it breaks.
    ("sqlx*", &["cofferdam-store", "cofferdam-testkit", "cofferdam-chaos"]),
    // The benchmarks compare the sandbox with a bare loop.
    ("wasmtime*", &["cofferdam-sandbox", "cofferdam-bench"]),
    ("axum*", &["cofferdam-api"]),
];

/// The core computes: it does no I/O and waits for nothing.
const NOT_IN_CORE: [&str; 4] = ["tokio", "reqwest", "tracing", "rand"];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) -> Result<()> {
    if !source.is_manifest() {
        return Ok(());
    }
    let manifest: Table =
        source.text.parse().with_context(|| format!("{} is not TOML", source.path))?;
    let name = manifest.get("package").and_then(|package| package.get("name"));
    let Some(name) = name.and_then(|name| name.as_str()) else { return Ok(()) };
    let allowed = match LAYERS.iter().find(|(layer, _)| *layer == name) {
        Some((_, allowed)) => allowed,
        None if source.path.starts_with("examples/") => HANDLER,
        None => {
            findings.push(Finding::new(
                source,
                0,
                format!("xtask/src/tidy/layers.rs does not say what `{name}` may know"),
            ));
            return Ok(());
        }
    };
    for (dependency, for_tests) in dependencies(&manifest) {
        let ours = dependency.starts_with("cofferdam");
        if ours && !for_tests && !allowed.contains(&&*dependency) {
            findings.push(Finding::new(
                source,
                0,
                format!("`{name}` must not know `{dependency}`"),
            ));
        }
        for (pattern, owners) in OWNED {
            if matches(pattern, &dependency) && !owners.contains(&name) {
                let what = format!("`{dependency}` belongs to {}", owners.join(" and "));
                findings.push(Finding::new(source, 0, what));
            }
        }
        if name == "cofferdam-core" && NOT_IN_CORE.contains(&&*dependency) {
            findings.push(Finding::new(
                source,
                0,
                format!("the core computes, without `{dependency}`"),
            ));
        }
    }
    Ok(())
}

/// Every dependency of a package, and whether it is one for tests.
fn dependencies(manifest: &Table) -> Vec<(String, bool)> {
    let per_target = manifest.get("target").and_then(|target| target.as_table());
    let tables = per_target.into_iter().flatten().filter_map(|(_, table)| table.as_table());
    let mut found = Vec::new();
    for table in tables.chain([manifest]) {
        for (kind, for_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let names = table.get(kind).and_then(|kind| kind.as_table()).into_iter().flatten();
            found.extend(names.map(|(name, _)| (name.clone(), for_tests)));
        }
    }
    found
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check(&source(path, text), &mut findings).unwrap();
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_layer_may_not_know_the_one_above() {
        let text = "[package]\nname = \"cofferdam-store\"\n[dependencies]\n\
                    cofferdam-core.workspace = true\ncofferdam-runner.workspace = true\n\
                    sqlx.workspace = true\n";
        let found = findings("host/crates/store/Cargo.toml", text);
        assert_eq!(found, ["`cofferdam-store` must not know `cofferdam-runner`"]);
    }

    #[test]
    fn tests_may_know_more_but_not_what_another_crate_owns() {
        let text = "[package]\nname = \"cofferdam-runner\"\n[dev-dependencies]\n\
                    cofferdam-testkit.workspace = true\n\
                    [target.'cfg(unix)'.dev-dependencies]\nwasmtime-wasi = \"48\"\n";
        let found = findings("host/crates/runner/Cargo.toml", text);
        assert_eq!(found, ["`wasmtime-wasi` belongs to cofferdam-sandbox and cofferdam-bench"]);
    }

    #[test]
    fn a_new_crate_has_to_be_placed() {
        let text = "[package]\nname = \"cofferdam-new\"\n";
        assert_eq!(findings("host/crates/new/Cargo.toml", text).len(), 1);
        let text = "[package]\nname = \"resize\"\n[dependencies]\ncofferdam-store = \"1\"\n";
        let found = findings("examples/resize/Cargo.toml", text);
        assert_eq!(found, ["`resize` must not know `cofferdam-store`"]);
    }
}
