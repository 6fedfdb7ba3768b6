//! What one attempt may hold. Each number says which attack it stops.

use crate::vitals::Vitals;
use cofferdam_core::units::format_size;
use std::sync::Arc;
use thiserror::Error;
use wasmtime::ResourceLimiter;

/// Core instances of one attempt, whatever its own limit: what a pool slot is reserved for.
pub(crate) const MAX_INSTANCES: usize = 200;
/// Memories of one attempt. Each is four gigabytes of address space.
pub(crate) const MAX_MEMORIES: usize = 2;
/// Tables of one attempt.
pub(crate) const MAX_TABLES: usize = 32;
/// Elements of one table, whatever the attempt's own limit: each is eight host bytes of a pool
/// slot. Language runtimes have up to twenty thousand.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;
/// Fuel units between two looks at the meter in a loop that never calls: without it the meter
/// stands still there, and usage after a kill would read as nothing.
pub(crate) const FUEL_SLICE: u64 = 100_000_000;

/// A limit of the attempt's own was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LimitHit {
    #[error("the attempt may have {} of memory, and asked for more", format_size(*.max))]
    Memory { max: u64 },
    #[error("the attempt may have {max} table elements, and asked for more")]
    Table { max: u64 },
    #[error("the output is larger than the {} that it may have", format_size(*.max))]
    Output { max: u64 },
    #[error("the log was flooded with {lines} lines and {bytes} bytes")]
    LogFlood { bytes: u64, lines: u64 },
}

/// A guest's memory could not grow, although the attempt's limit allows it: the machine has not
/// that much, or no memory can be that large.
#[derive(Debug, Error)]
#[error("the attempt asked for memory that cannot be given: {0}")]
pub(crate) struct GrowthFailed(String);

/// Counts all memories and all tables of a store together: wasmtime's own limits count each.
pub(crate) struct Limiter {
    vitals: Arc<Vitals>,
    max_memory: u64,
    memory: u64,
    max_elements: u64,
    elements: u64,
}

impl Limiter {
    pub(crate) fn new(vitals: Arc<Vitals>, most_memory: u64) -> Self {
        let max_memory = vitals.limits.memory_bytes.min(most_memory);
        let max_elements = vitals.limits.table_elements.min(MAX_TABLE_ELEMENTS as u64);
        Self { vitals, max_memory, memory: 0, max_elements, elements: 0 }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let sum = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.max_memory {
            // An error of our own: a refusal would reach the guest's allocator, and the failure
            // would read `unreachable`.
            return Err(LimitHit::Memory { max: self.max_memory }.into());
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The memory's own maximum: the guest expects to be refused, and it must not be
            // counted as if it had been granted.
            return Ok(false);
        }
        self.memory = sum;
        self.vitals.meter.memory(sum);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // Only a guest's own request comes here, so the failure is its own too. Were the job
        // given back instead, it would ask for as much again and again, and never be counted.
        Err(GrowthFailed(format!("{error:#}")).into())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let sum = self.elements.saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.max_elements {
            return Err(LimitHit::Table { max: self.max_elements }.into());
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.elements = sum;
        Ok(true)
    }

    fn instances(&self) -> usize {
        usize::try_from(self.vitals.limits.instances).map_or(MAX_INSTANCES, |own| own.min(MAX_INSTANCES))
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }
}
