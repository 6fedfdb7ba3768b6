//! What a component may import, and what to say about the rest.

use crate::reject::Reject;

/// The version of the guest contract that this host offers.
pub const WIT_VERSION: &str = "0.1.0";

const PACKAGE: &str = "cofferdam:job";
const OUR_INTERFACES: [&str; 5] = ["types", "log", "control", "jobs", "secrets"];

/// The part of WASI 0.2 that guests can link against.
const WASI: [(&str, &[&str]); 6] = [
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:clocks", &["wall-clock", "monotonic-clock"]),
    ("wasi:random", &["random", "insecure", "insecure-seed"]),
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
        ],
    ),
    // Standard libraries import files even where a program opens none. No folder is open.
    ("wasi:filesystem", &["types", "preopens"]),
    // What it may send is for the manifest and the operator to say.
    ("wasi:http", &["types", "outgoing-handler"]),
];

/// An interface's full name, such as `wasi:io/streams@0.2.6`, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interface<'a> {
    pub(crate) package: &'a str,
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
}

impl<'a> Interface<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (path, version) = text.split_once('@').unwrap_or((text, ""));
        let (package, name) = path.split_once('/')?;
        Some(Self { package, name, version })
    }

    /// Whether this is `cofferdam:job/handler`, of whatever version.
    pub(crate) fn is_handler(self) -> bool {
        self.package == PACKAGE && self.name == "handler"
    }

    /// Whether this is `wasi:cli/run` of WASI 0.2.
    pub(crate) fn is_command(self) -> bool {
        self.package == "wasi:cli" && self.name == "run" && is_wasi_02(self.version)
    }

    /// Refuses interfaces of our package that were built for another version of it.
    pub(crate) fn check_version(self) -> Result<(), Reject> {
        if self.package == PACKAGE { check_wit_version(self.version) } else { Ok(()) }
    }
}

/// Refuses another version of the contract, unless it differs only in its last number.
pub(crate) fn check_wit_version(built_for: &str) -> Result<(), Reject> {
    if track(built_for) == track(WIT_VERSION) {
        return Ok(());
    }
    Err(Reject::WrongSdkVersion {
        built_for: built_for.to_owned(),
        offered: WIT_VERSION.to_owned(),
    })
}

/// The part of a version that has to agree.
fn track(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(track, _)| track)
}

fn is_wasi_02(version: &str) -> bool {
    version.starts_with("0.2.")
}

/// Refuses an import that this host does not offer, and says why.
pub(crate) fn check(import: &str) -> Result<(), Reject> {
    let refuse =
        |why: &str| Err(Reject::UnknownImport { import: import.to_owned(), why: why.to_owned() });
    let Some(interface) = Interface::parse(import) else {
        return refuse("it is not an interface; components import functions by interface here");
    };
    interface.check_version()?;
    if interface.package == PACKAGE {
        if OUR_INTERFACES.contains(&interface.name) {
            return Ok(());
        }
        return refuse("this host offers log, control, jobs and secrets of cofferdam:job");
    }
    let offered = WASI
        .iter()
        .any(|(package, names)| *package == interface.package && names.contains(&interface.name));
    match interface.package {
        _ if offered && is_wasi_02(interface.version) => Ok(()),
        _ if offered => refuse("this host offers WASI 0.2; build for wasm32-wasip2"),
        "wasi:sockets" => refuse("jobs have no sockets; requests go through wasi:http"),
        "wasi:http" => refuse("this host offers outgoing requests, and sends none to jobs"),
        package if package.starts_with("wasi:") => {
            refuse("this host offers wasi:cli, clocks, random, io, filesystem and http")
        }
        _ => refuse("this host offers cofferdam:job and WASI 0.2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_libraries_may_import_what_they_need() {
        for import in [
            "cofferdam:job/log@0.1.0",
            "cofferdam:job/types@0.1.3",
            "wasi:cli/exit@0.2.6",
            "wasi:io/streams@0.2.0",
            "wasi:filesystem/preopens@0.2.3",
            "wasi:http/outgoing-handler@0.2.0",
            "cofferdam:job/secrets@0.1.0",
        ] {
            assert!(check(import).is_ok(), "{import}");
        }
    }

    #[test]
    fn other_imports_are_refused_with_a_reason() {
        for (import, reason) in [
            ("wasi:sockets/tcp@0.2.0", "no sockets"),
            ("wasi:http/incoming-handler@0.2.0", "outgoing"),
            ("wasi:cli/stdin@0.3.0", "WASI 0.2"),
            ("wasi:nn/graph@0.2.0", "wasi:cli"),
            ("cofferdam:job/kv@0.1.0", "log, control, jobs"),
            ("acme:tools/hammer@1.0.0", "cofferdam:job and WASI"),
            ("hammer", "interface"),
        ] {
            match check(import) {
                Err(Reject::UnknownImport { import: named, why }) => {
                    assert_eq!(named, import);
                    assert!(why.contains(reason), "{import}: {why}");
                }
                other => panic!("{import}: {other:?}"),
            }
        }
    }

    #[test]
    fn another_contract_is_named() {
        for (import, version) in
            [("cofferdam:job/log@0.2.0", "0.2.0"), ("cofferdam:job/control@1.1.0", "1.1.0")]
        {
            match check(import) {
                Err(Reject::WrongSdkVersion { built_for, offered }) => {
                    assert_eq!((built_for.as_str(), offered.as_str()), (version, WIT_VERSION));
                }
                other => panic!("{import}: {other:?}"),
            }
        }
    }
}
