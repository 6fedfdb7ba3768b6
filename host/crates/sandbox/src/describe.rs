//! Asking a component for its kinds, and believing nothing that it says.

use crate::attempt::{Attempt, AttemptHost, JobInfo};
use crate::bindings::KindDescription;
use crate::reject::Reject;
use crate::text::kept;
use async_trait::async_trait;
use cofferdam_core::job::MAX_MAX_ATTEMPTS;
use cofferdam_core::limits::{Limits, MAX_KINDS, MAX_SCHEMA};
use cofferdam_core::log::LogLine;
use cofferdam_core::module::KindInfo;
use cofferdam_core::name::{KindName, MAX_NAME};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fuel for a component's own initialisation and for `describe`. Starting a scripting language
/// takes some two hundred thousand units, so this is generous and still over in a second.
const FUEL: u64 = 1_000_000_000;
/// Wall-clock time for the same, the turns of other guests included.
const DEADLINE: Duration = Duration::from_secs(5);
/// Memory for the same, in bytes.
const MEMORY: u64 = 64 << 20;
/// The longest description of a kind, in bytes: it is a column of a list.
const MAX_DESCRIPTION: usize = 4 * 1024;

/// The attempt that asks a component to describe itself.
pub(crate) fn attempt() -> Attempt {
    Attempt {
        info: JobInfo::default(),
        input: Vec::new(),
        args: Vec::new(),
        env: Vec::new(),
        limits: Limits {
            deadline: DEADLINE,
            fuel: FUEL,
            memory_bytes: MEMORY,
            ..Limits::default()
        },
        deadline: Instant::now() + DEADLINE,
        lease_until: None,
        last_checkpoint: None,
        resumed: None,
        host: Arc::new(Nobody),
    }
}

/// The host of an attempt that is no job.
struct Nobody;

#[async_trait]
impl AttemptHost for Nobody {
    fn log(&self, line: LogLine) {
        tracing::debug!(message = %line.message, "a component says while it describes itself");
    }

    fn progress(&self, _percent: u8, _note: String) {}

    async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
        Err("there is no job".to_owned())
    }

    async fn extend_deadline(&self, _by: Duration) -> Result<Duration, String> {
        Err("there is no job".to_owned())
    }
}

/// Checks what a handler component said.
pub(crate) fn kinds(described: &[KindDescription]) -> Result<Vec<KindInfo>, Reject> {
    if described.is_empty() {
        return Err(Reject::NoKinds);
    }
    if described.len() > MAX_KINDS {
        return Err(Reject::TooManyKinds { count: described.len() });
    }
    let mut seen = HashSet::new();
    described
        .iter()
        .map(|description| {
            let kind = kind(description)?;
            if !seen.insert(kind.name.clone()) {
                return Err(Reject::DuplicateKind { kind: kind.name.to_string() });
            }
            Ok(kind)
        })
        .collect()
}

/// The one kind of a command component.
pub(crate) fn command_kind() -> KindInfo {
    KindInfo {
        name: KindName::command(),
        description: "A WASI program: payload on standard input, output on standard output."
            .to_owned(),
        input_schema: None,
        deadline: None,
        memory_bytes: None,
        fuel: None,
        max_attempts: None,
    }
}

fn kind(description: &KindDescription) -> Result<KindInfo, Reject> {
    let bad =
        |problem: String| Reject::BadKind { kind: kept(&description.name, MAX_NAME), problem };
    let name = KindName::new(description.name.as_str()).map_err(|error| bad(error.to_string()))?;
    if description.description.len() > MAX_DESCRIPTION {
        return Err(bad(format!("its description is longer than {MAX_DESCRIPTION} bytes")));
    }
    for (what, zero) in [
        ("deadline", description.deadline_ms == Some(0)),
        ("memory", description.memory_bytes == Some(0)),
        ("fuel", description.fuel == Some(0)),
    ] {
        if zero {
            return Err(bad(format!("its default for {what} is zero")));
        }
    }
    if let Some(attempts) = description.max_attempts
        && !(1..=MAX_MAX_ATTEMPTS).contains(&attempts)
    {
        return Err(bad(format!(
            "its max-attempts is {attempts}, but must be 1 to {MAX_MAX_ATTEMPTS}"
        )));
    }
    let input_schema = description.input_schema.as_deref().map(schema).transpose().map_err(bad)?;
    Ok(KindInfo {
        name,
        description: kept(&description.description, MAX_DESCRIPTION),
        input_schema,
        deadline: description.deadline_ms.map(Duration::from_millis),
        memory_bytes: description.memory_bytes,
        fuel: description.fuel,
        max_attempts: description.max_attempts,
    })
}

/// Reads a schema as JSON. Whether it is a schema is for whoever validates payloads with it.
fn schema(text: &str) -> Result<serde_json::Value, String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!("its input schema is longer than {MAX_SCHEMA} bytes"));
    }
    let schema: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| format!("its input schema is not JSON: {error}"))?;
    if !schema.is_object() && !schema.is_boolean() {
        return Err("its input schema is neither an object nor a boolean".to_owned());
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> KindDescription {
        KindDescription {
            name: name.to_owned(),
            description: "Does it.".to_owned(),
            input_schema: None,
            deadline_ms: Some(250),
            memory_bytes: None,
            fuel: None,
            max_attempts: Some(3),
        }
    }

    #[test]
    fn plain_kinds_pass() {
        let schema = Some(r#"{"type":"object"}"#.to_owned());
        let kinds = kinds(&[KindDescription { input_schema: schema, ..named("resize") }]);
        let kinds = kinds.unwrap();
        assert_eq!(kinds[0].name.as_str(), "resize");
        assert_eq!(kinds[0].deadline, Some(Duration::from_millis(250)));
        assert!(kinds[0].input_schema.is_some());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let long = format!("\"{}\"", "x".repeat(MAX_SCHEMA));
        for (description, part) in [
            (named("Bad Name"), "not a valid kind name"),
            (KindDescription { deadline_ms: Some(0), ..named("a") }, "deadline is zero"),
            (KindDescription { max_attempts: Some(0), ..named("a") }, "max-attempts"),
            (KindDescription { input_schema: Some("{".to_owned()), ..named("a") }, "not JSON"),
            (KindDescription { input_schema: Some("7".to_owned()), ..named("a") }, "neither"),
            (KindDescription { input_schema: Some(long), ..named("a") }, "longer than"),
        ] {
            match kind(&description) {
                Err(Reject::BadKind { problem, .. }) => {
                    assert!(problem.contains(part), "{problem}");
                }
                other => panic!("{part}: {other:?}"),
            }
        }
    }

    #[test]
    fn kinds_are_counted() {
        assert!(matches!(kinds(&[]), Err(Reject::NoKinds)));
        let many: Vec<_> = (0..=MAX_KINDS).map(|i| named(&format!("k{i}"))).collect();
        assert!(matches!(kinds(&many), Err(Reject::TooManyKinds { .. })));
        let twice = vec![named("a"), named("a")];
        assert!(matches!(kinds(&twice), Err(Reject::DuplicateKind { kind }) if kind == "a"));
    }
}
