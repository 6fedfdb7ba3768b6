//! The component itself: the generated bindings, and the SDK's types on either side of them.
//!
//! The exports are in this crate, once, rather than in the code that `#[handler]` generates: a
//! component has one `handle`, however many handlers it has. The linker keeps them, because an
//! exported symbol of any linked crate is an export of the whole.

use crate::context::{Context, Info};
use crate::error::{Error, Retry};
use crate::host::{Host, Level, Resumption};
use crate::registry;
use crate::version::wit_version;
use bindings::cofferdam::job::{control, jobs, log, secrets, types};
use std::time::{Duration, SystemTime};

#[expect(clippy::same_length_and_capacity, reason = "generated: the canonical ABI has no capacity")]
mod bindings {
    // The path is relative to this crate's manifest. Whoever takes the crate out of its
    // repository takes the folder `wit` along and says here where it went.
    wit_bindgen::generate!({ path: "../../wit", world: "handler-full", generate_unused_types: true });
}

/// What the host reads before it links anything, so that it can say `built for 0.2` instead of
/// `missing import`: the version of this SDK and that of its WIT package.
#[used]
#[expect(unsafe_code, reason = "naming a section; a custom section is in no one's memory")]
#[unsafe(link_section = "cofferdam:sdk")]
static SDK_SECTION: [u8; VERSIONS.len()] = match VERSIONS.as_bytes().first_chunk() {
    Some(bytes) => *bytes,
    None => [0; VERSIONS.len()],
};
const VERSIONS: &str = concat!(env!("CARGO_PKG_VERSION"), " ", wit_version!());

struct Component;

#[expect(unsafe_code, reason = "generated: the canonical ABI passes addresses and lengths")]
mod exports {
    use super::{Component, bindings};

    bindings::export!(Component with_types_in bindings);
}

impl bindings::exports::cofferdam::job::handler::Guest for Component {
    fn describe() -> Vec<types::KindInfo> {
        registry::kinds().into_iter().map(kind_info).collect()
    }

    fn handle(info: types::JobInfo, input: Vec<u8>) -> Result<Vec<u8>, types::JobError> {
        report_panics();
        let context = Context::new(info.into(), WasmHost);
        registry::dispatch(&context, input).map_err(types::JobError::from)
    }
}

/// Sends the message of a panic to the job's log where the target has no standard error, so that
/// it reaches the error history on every target.
fn report_panics() {
    #[cfg(target_os = "unknown")]
    std::panic::set_hook(Box::new(|panic| {
        log::log(log::Level::Error, &panic.to_string(), &[("source".into(), "panic".into())]);
    }));
}

fn kind_info(kind: &registry::Kind) -> types::KindInfo {
    types::KindInfo {
        name: kind.name.to_owned(),
        description: kind.description.to_owned(),
        input_schema: kind.input_schema.map(str::to_owned),
        deadline_ms: kind.deadline_ms,
        memory_bytes: kind.memory_bytes,
        fuel: kind.fuel,
        max_attempts: kind.max_attempts,
    }
}

impl From<types::JobInfo> for Info {
    fn from(info: types::JobInfo) -> Self {
        Self {
            id: info.id,
            kind: info.kind,
            queue: info.queue,
            tenant: info.tenant,
            attempt: info.attempt,
            max_attempts: info.max_attempts,
            priority: info.priority,
            created_at: SystemTime::UNIX_EPOCH + Duration::from_millis(info.created_at),
            deadline: Duration::from_millis(info.deadline_ms),
            idempotency_key: info.idempotency_key,
            workflow: info.workflow,
            metadata: info.metadata,
        }
    }
}

impl From<Error> for types::JobError {
    fn from(error: Error) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.message().to_owned(),
            retry: match error.advice() {
                Retry::Default => types::RetryAdvice::Default,
                Retry::After(delay) => types::RetryAdvice::AfterMs(millis(delay)),
                Retry::Permanent => types::RetryAdvice::Permanent,
                Retry::Snooze(delay) => types::RetryAdvice::SnoozeMs(millis(delay)),
            },
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The host of this component.
pub(crate) struct WasmHost;

impl Host for WasmHost {
    fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let level = match level {
            Level::Trace => log::Level::Trace,
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        };
        log::log(level, message, fields);
    }

    fn progress(&self, percent: u8, note: &str) {
        control::progress(percent, note);
    }

    fn checkpoint(&self, bytes: &[u8]) -> Result<(), String> {
        control::checkpoint(bytes)
    }

    fn last_checkpoint(&self) -> Option<Vec<u8>> {
        control::last_checkpoint()
    }

    fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        control::extend_deadline(millis(by)).map(Duration::from_millis)
    }

    fn remaining(&self) -> Duration {
        Duration::from_millis(control::remaining_ms())
    }

    fn cancelled(&self) -> bool {
        control::cancelled()
    }

    fn create_callback(&self) -> String {
        jobs::create_callback()
    }

    fn suspend_until(&self, callback: Option<&str>, timeout: Duration) -> Result<(), String> {
        jobs::suspend_until(callback, millis(timeout))
    }

    fn resumed(&self) -> Option<Resumption> {
        jobs::resumed().map(|resumption| match resumption {
            jobs::Resumption::CalledBack(bytes) => Resumption::CalledBack(bytes),
            jobs::Resumption::TimedOut => Resumption::TimedOut,
        })
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        secrets::get(name)
    }

    fn secret_placeholder(&self, name: &str) -> Result<String, String> {
        secrets::placeholder(name)
    }
}
