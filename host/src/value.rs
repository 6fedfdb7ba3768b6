//! Values as people write them, on the command line, in the environment and in files.

use cofferdam_core::Time;
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::{JobId, WorkerId};
use cofferdam_core::job::Priority;
use cofferdam_core::key::{InstallationKey, KeyError};
use cofferdam_core::module::{ModuleRef, VersionName};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::secret::SecretName;
use cofferdam_core::state::JobState;
use cofferdam_core::units;
use cofferdam_core::wait::{BadToken, CallbackToken};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A text that is no value of its type, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    /// What is wrong. No trailing period.
    pub(crate) message: String,
    /// What to write instead.
    pub(crate) hint: Option<String>,
}

impl BadValue {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }

    fn of(error: &impl Hint) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadValue {}

/// A setting's value: read from text, and shown as text by `doctor`.
pub(crate) trait Value: Sized {
    /// Reads the text, whole or not at all.
    fn read(text: &str) -> Result<Self, BadValue>;
    /// Writes it so that it can be read back.
    fn show(&self) -> String;
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

/// A list of queues; empty means all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queues(pub(crate) Vec<QueueName>);

impl Value for Duration {
    fn read(text: &str) -> Result<Self, BadValue> {
        duration(text)
    }
    fn show(&self) -> String {
        units::format_duration(*self)
    }
}

impl Value for Bytes {
    fn read(text: &str) -> Result<Self, BadValue> {
        size(text).map(Self)
    }
    fn show(&self) -> String {
        units::format_size(self.0)
    }
}

impl Value for Queues {
    fn read(text: &str) -> Result<Self, BadValue> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(queue).collect::<Result<_, _>>().map(Self)
    }
    fn show(&self) -> String {
        if self.0.is_empty() {
            return "all".to_owned();
        }
        self.0.iter().map(QueueName::as_str).collect::<Vec<_>>().join(",")
    }
}

impl Value for u64 {
    fn read(text: &str) -> Result<Self, BadValue> {
        number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for u32 {
    fn read(text: &str) -> Result<Self, BadValue> {
        number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for usize {
    fn read(text: &str) -> Result<Self, BadValue> {
        number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    fn read(text: &str) -> Result<Self, BadValue> {
        Ok(text.to_owned())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, BadValue> {
        Ok(Self::from(text))
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Value for SocketAddr {
    fn read(text: &str) -> Result<Self, BadValue> {
        address(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for InstallationKey {
    fn read(text: &str) -> Result<Self, BadValue> {
        text.parse().map_err(|error: KeyError| BadValue::of(&error))
    }
    /// Cannot be read back: a key is shown to nobody.
    fn show(&self) -> String {
        "(hidden)".to_owned()
    }
}

/// A duration such as `10s`.
pub(crate) fn duration(text: &str) -> Result<Duration, BadValue> {
    units::parse_duration(text).map_err(|error| BadValue::of(&error))
}

/// A number of bytes such as `64MiB`.
pub(crate) fn size(text: &str) -> Result<u64, BadValue> {
    units::parse_size(text).map_err(|error| BadValue::of(&error))
}

/// A whole number of at least 1. Zero slots, attempts or fuel units would only stop things.
pub(crate) fn number<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, BadValue> {
    match text.parse::<N>() {
        Ok(number) if number >= N::from(1) => Ok(number),
        _ => Err(BadValue::new(
            format!("`{text}` is not a whole number of at least 1"),
            "write digits only, such as 8",
        )),
    }
}

/// Fuel units, with `_` between digits as in a manifest.
pub(crate) fn fuel(text: &str) -> Result<u64, BadValue> {
    number(&text.replace('_', "")).map_err(|_| {
        BadValue::new(
            format!("`{text}` is not a number of fuel units"),
            "write digits, such as 5_000_000_000; a unit is roughly one instruction",
        )
    })
}

/// `HOST:PORT` with a numeric host.
pub(crate) fn address(text: &str) -> Result<SocketAddr, BadValue> {
    text.parse().map_err(|_| {
        BadValue::new(
            format!("`{text}` is not an address to listen on"),
            "write an IP address and a port, such as 127.0.0.1:7070 or [::1]:7070",
        )
    })
}

/// `NAME[@VERSION][/KIND]`.
pub(crate) fn module_ref(text: &str) -> Result<ModuleRef, BadValue> {
    text.parse().map_err(|error| BadValue::of(&error))
}

/// `NAME[@VERSION]`.
pub(crate) fn module_version(text: &str) -> Result<ModuleRef, BadValue> {
    let module = module_ref(text)?;
    if module.kind.is_some() {
        return Err(BadValue::new(
            format!("`{text}` names a kind, but a module is meant"),
            format!("leave out the part from `/` on: {}", without_kind(&module)),
        ));
    }
    Ok(module)
}

/// `NAME@VERSION`, both of them.
pub(crate) fn exact_version(text: &str) -> Result<(ModuleName, VersionName), BadValue> {
    let ModuleRef { name, version, .. } = module_version(text)?;
    match version {
        Some(version) => Ok((name, version)),
        None => Err(BadValue::new(
            format!("`{text}` does not say which version"),
            format!(
                "write {name}@VERSION; `cofferdam module show {name}` lists the versions there are"
            ),
        )),
    }
}

fn without_kind(module: &ModuleRef) -> String {
    ModuleRef { kind: None, ..module.clone() }.to_string()
}

/// A kind's name.
pub(crate) fn kind(text: &str) -> Result<KindName, BadValue> {
    KindName::new(text).map_err(|error| BadValue::of(&error))
}

/// A queue's name.
pub(crate) fn queue(text: &str) -> Result<QueueName, BadValue> {
    QueueName::new(text).map_err(|error| BadValue::of(&error))
}

/// A module's name.
pub(crate) fn module_name(text: &str) -> Result<ModuleName, BadValue> {
    ModuleName::new(text).map_err(|error| BadValue::of(&error))
}

/// A secret's name.
pub(crate) fn secret(text: &str) -> Result<SecretName, BadValue> {
    SecretName::new(text).map_err(|error| BadValue::of(&error))
}

/// A job's id.
pub(crate) fn job_id(text: &str) -> Result<JobId, BadValue> {
    text.parse().map_err(|_| {
        let start: String = text.chars().take(64).collect();
        BadValue::new(
            format!("`{start}` is not the id of a job"),
            "ids are UUIDs; `cofferdam job list` shows them",
        )
    })
}

/// A callback's token. It is not repeated: it is a secret as long as nobody has used it.
pub(crate) fn callback(text: &str) -> Result<CallbackToken, BadValue> {
    text.parse().map_err(|error: BadToken| {
        BadValue::new(error.to_string(), "the handler that waits for it has made it known")
    })
}

/// A worker's id.
pub(crate) fn worker_id(text: &str) -> Result<WorkerId, BadValue> {
    text.parse().map_err(|_| {
        let start: String = text.chars().take(64).collect();
        BadValue::new(
            format!("`{start}` is not the id of a worker"),
            "ids are UUIDs; `cofferdam worker list` shows them",
        )
    })
}

/// A job's state.
pub(crate) fn state(text: &str) -> Result<JobState, BadValue> {
    text.parse().map_err(|error| BadValue::of(&error))
}

/// 1 to 4.
pub(crate) fn priority(text: &str) -> Result<Priority, BadValue> {
    text.parse().ok().and_then(|number| Priority::new(number).ok()).ok_or_else(|| {
        BadValue::new(format!("`{text}` is not a priority"), "priorities go from 1 (highest) to 4")
    })
}

/// A time with its offset from UTC.
pub(crate) fn time(text: &str) -> Result<Time, BadValue> {
    chrono::DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).map_err(|_| {
        BadValue::new(
            format!("`{text}` is not a time"),
            "write it like 2030-01-31T08:00:00Z or 2030-01-31T09:00:00+01:00",
        )
    })
}

/// `KEY=VALUE`. The value may be empty and may contain `=`.
pub(crate) fn pair(text: &str) -> Result<(String, String), BadValue> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(BadValue::new(format!("`{text}` is not a pair"), "write it like KEY=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_whole_or_not_at_all() {
        assert_eq!(duration("1h30m").unwrap(), Duration::from_mins(90));
        assert_eq!(fuel("5_000").unwrap(), 5_000);
        assert_eq!(pair("A=b=c").unwrap(), ("A".to_owned(), "b=c".to_owned()));
        assert_eq!(exact_version("images@2").unwrap().1.as_str(), "2");
        assert_eq!(Queues::read("a, b").unwrap().show(), "a,b");
        assert_eq!(
            time("2030-01-31T09:00:00+01:00").unwrap().to_rfc3339(),
            "2030-01-31T08:00:00+00:00"
        );
    }

    #[test]
    fn every_refusal_says_what_to_write() {
        let refusals = [
            duration("10").unwrap_err(),
            size("64MB").unwrap_err(),
            number::<u64>("0").unwrap_err(),
            fuel("many").unwrap_err(),
            address("localhost").unwrap_err(),
            module_version("images/thumbnail").unwrap_err(),
            exact_version("images").unwrap_err(),
            kind("A").unwrap_err(),
            secret("A-B").unwrap_err(),
            InstallationKey::read("07").unwrap_err(),
            job_id("7").unwrap_err(),
            worker_id("7").unwrap_err(),
            state("gone").unwrap_err(),
            priority("9").unwrap_err(),
            time("tomorrow").unwrap_err(),
            pair("novalue").unwrap_err(),
        ];
        for refusal in refusals {
            assert!(refusal.hint.is_some(), "{refusal}");
        }
    }
}
