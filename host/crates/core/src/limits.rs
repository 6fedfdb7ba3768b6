//! What one attempt may use. Every limit is a named number that says which attack it stops.

use serde::{Deserialize, Serialize};
use std::time::Duration;

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

/// The largest payload of a job, in bytes. It is stored, sent to a worker and copied into the
/// guest's memory: stops a submitter from filling the database and the workers with one call.
pub const MAX_PAYLOAD: u64 = 8 * MIB;
/// The largest component that can be uploaded, in bytes. Compiling is super-linear in places:
/// stops an upload from holding the compiler for minutes.
pub const MAX_COMPONENT: u64 = 64 * MIB;
/// The most kinds that one component may describe.
pub const MAX_KINDS: usize = 256;
/// The largest input schema of a kind, in bytes: schemas are compiled by the server.
pub const MAX_SCHEMA: usize = 64 * 1024;
/// The largest checkpoint, in bytes: each one is a write to the database.
pub const MAX_CHECKPOINT: u64 = MIB;
/// The most pairs of metadata, and the longest key and value of one, in bytes.
pub const MAX_METADATA: (usize, usize) = (32, 1024);
/// The most jobs in one enqueue request.
pub const MAX_ENQUEUE: usize = 10_000;

/// The limits of one attempt, resolved: job over kind over version over default, bounded by the
/// tenant's caps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time of the attempt. Stops runaways, and guests that wait for ever.
    #[serde(with = "crate::units::duration")]
    pub deadline: Duration,
    /// Fuel: roughly one unit per WebAssembly instruction. Deterministic, so the same input ends
    /// the same way on every worker. No clock: 4 to 20 units pass in a nanosecond.
    pub fuel: u64,
    /// Bytes of linear memory, summed over all memories of the attempt. Stops allocation bombs.
    pub memory_bytes: u64,
    /// Elements of all tables together. Stops table growth, 8 to 16 host bytes an element.
    pub table_elements: u64,
    /// Bytes of output. Stops a job from filling the database.
    pub output_bytes: u64,
    /// Bytes of log kept, standard output and error included. What is over is dropped and counted.
    pub log_bytes: u64,
    /// Bytes or lines of log, kept or not, past which the attempt is killed: a flood costs host
    /// time even when nothing of it is kept.
    pub log_flood_bytes: u64,
    /// See `log_flood_bytes`.
    pub log_flood_lines: u64,
    /// Bytes that one host call may copy out of the guest. Stops lists and texts of gigabytes.
    pub hostcall_bytes: u64,
    /// Core instances of the attempt. A plain component has three to five, a Python program with
    /// native extensions some eighty. Stops components that are all bookkeeping.
    pub instances: u64,
    /// Handles of components alive at once. Stops a guest from growing tables of the host without
    /// host code in the loop.
    pub handles: u64,
    /// Resources of the host alive at once: streams, pollables, requests. Each is an allocation.
    pub resources: u64,
    /// Random bytes of one call. Stops a cheap call from doing a lot of host work.
    pub random_bytes: u64,
    /// Requests of the attempt, refused ones included. Stops a job from being a flood of requests.
    pub http_calls: u64,
    /// Requests under way at once. Each holds a connection of the host.
    pub http_concurrent: u64,
    /// Bytes of the body of one request, and of one answer.
    pub http_body_bytes: u64,
    /// Bytes of the headers of one request, and of one answer.
    pub http_header_bytes: u64,
    /// Time of one request, from the look-up of the name to the last byte of the answer. Stops
    /// servers that answer a byte a minute from holding what a request holds.
    #[serde(with = "crate::units::duration")]
    pub http_time: Duration,
    /// Bytes in the scratch folder, where the manifest asks for one. Stops a job from filling the
    /// disk of its worker.
    pub scratch_bytes: u64,
    /// Files and folders in the scratch folder, for the same reason: an empty file costs, too.
    pub scratch_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(5),
            fuel: 100_000_000_000,
            memory_bytes: 256 * MIB,
            table_elements: 100_000,
            output_bytes: 8 * MIB,
            log_bytes: 256 * KIB,
            log_flood_bytes: 64 * MIB,
            log_flood_lines: 1_000_000,
            hostcall_bytes: 16 * MIB,
            instances: 200,
            handles: 10_000,
            resources: 1_000,
            random_bytes: 64 * KIB,
            http_calls: 1_000,
            http_concurrent: 16,
            http_body_bytes: 16 * MIB,
            http_header_bytes: 64 * KIB,
            http_time: Duration::from_secs(30),
            scratch_bytes: 64 * MIB,
            scratch_files: 1_000,
        }
    }
}

impl Limits {
    /// The caps of a tenant that has none of its own.
    pub fn caps() -> Self {
        Self {
            deadline: Duration::from_hours(1),
            fuel: 10_000_000_000_000,
            memory_bytes: 1024 * MIB,
            scratch_bytes: 1024 * MIB,
            ..Self::default()
        }
    }

    /// Lays what was asked for over these limits. Nothing is capped yet.
    #[must_use]
    pub fn with(mut self, wish: &LimitWish) -> Self {
        self.deadline = wish.deadline.unwrap_or(self.deadline);
        self.fuel = wish.fuel.unwrap_or(self.fuel);
        self.memory_bytes = wish.memory_bytes.unwrap_or(self.memory_bytes);
        self
    }

    /// Bounds every limit by the tenant's caps.
    #[must_use]
    pub fn capped(self, caps: &Self) -> Self {
        Self {
            deadline: self.deadline.min(caps.deadline),
            fuel: self.fuel.min(caps.fuel),
            memory_bytes: self.memory_bytes.min(caps.memory_bytes),
            table_elements: self.table_elements.min(caps.table_elements),
            output_bytes: self.output_bytes.min(caps.output_bytes),
            log_bytes: self.log_bytes.min(caps.log_bytes),
            log_flood_bytes: self.log_flood_bytes.min(caps.log_flood_bytes),
            log_flood_lines: self.log_flood_lines.min(caps.log_flood_lines),
            hostcall_bytes: self.hostcall_bytes.min(caps.hostcall_bytes),
            instances: self.instances.min(caps.instances),
            handles: self.handles.min(caps.handles),
            resources: self.resources.min(caps.resources),
            random_bytes: self.random_bytes.min(caps.random_bytes),
            http_calls: self.http_calls.min(caps.http_calls),
            http_concurrent: self.http_concurrent.min(caps.http_concurrent),
            http_body_bytes: self.http_body_bytes.min(caps.http_body_bytes),
            http_header_bytes: self.http_header_bytes.min(caps.http_header_bytes),
            http_time: self.http_time.min(caps.http_time),
            scratch_bytes: self.scratch_bytes.min(caps.scratch_bytes),
            scratch_files: self.scratch_files.min(caps.scratch_files),
        }
    }
}

/// The limits that a manifest, a kind or a job may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitWish {
    /// Wall-clock time, such as `30s`.
    #[serde(
        with = "crate::units::optional_duration",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Duration>,
    /// Fuel units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Linear memory, such as `128MiB`.
    #[serde(
        rename = "memory",
        with = "crate::units::optional_size",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub memory_bytes: Option<u64>,
}

impl LimitWish {
    /// This wish where it says something, `under` where it does not.
    #[must_use]
    pub fn over(&self, under: &Self) -> Self {
        Self {
            deadline: self.deadline.or(under.deadline),
            fuel: self.fuel.or(under.fuel),
            memory_bytes: self.memory_bytes.or(under.memory_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S16, S89: nobody asked for anything, and the attempt is bounded all the same.
    #[test]
    fn an_attempt_that_nobody_limited_has_five_minutes_and_every_other_bound() {
        let limits = Limits::default().with(&LimitWish::default()).capped(&Limits::caps());
        assert_eq!(limits, Limits::default());
        assert_eq!(limits.deadline, Duration::from_mins(5));
        assert!(limits.fuel > 0 && limits.memory_bytes > 0);
    }

    /// S17: job over kind, below the cap.
    #[test]
    fn the_job_wins_and_the_tenant_caps() {
        let job = LimitWish { deadline: Some(Duration::from_secs(9_999)), ..LimitWish::default() };
        let kind = LimitWish {
            deadline: Some(Duration::from_secs(10)),
            memory_bytes: Some(MIB),
            ..LimitWish::default()
        };
        let limits = Limits::default().with(&job.over(&kind)).capped(&Limits::caps());
        assert_eq!(limits.deadline, Duration::from_hours(1));
        assert_eq!(limits.memory_bytes, MIB);
        assert_eq!(limits.fuel, Limits::default().fuel);
    }
}
