//! The one engine configuration: every knob is set here and nowhere else.

use crate::code::Effort;
use crate::limiter::{MAX_INSTANCES, MAX_MEMORIES, MAX_TABLE_ELEMENTS, MAX_TABLES};
use crate::settings::{Pooling, SandboxSettings};
use crate::status::{Allocation, StartError};
use std::num::NonZeroUsize;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, ModuleVersionStrategy, OptLevel,
    PoolingAllocationConfig, RegallocAlgorithm, WasmBacktraceDetails,
};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The guest's own call stack, in bytes. Stops endless recursion; ten thousand plain frames fit.
const WASM_STACK: usize = 512 * KIB;

/// The stack that a guest and the host functions it calls share, in bytes. Host code that ran out
/// of it would abort the process, so it gets three times what the guest has.
const ASYNC_STACK: usize = 2 * MIB;

/// Stack bytes that stay mapped between attempts and are cleared by hand. More costs more than
/// mapping afresh: 2 MiB made an attempt nine times as expensive.
const STACK_RESIDENT: usize = 32 * KIB;

/// Memory bytes that stay mapped between attempts where the kernel says which were touched.
const MEMORY_RESIDENT: usize = MIB;

/// The same without the kernel's help: all of it is cleared by hand, whether touched or not.
const MEMORY_RESIDENT_BLIND: usize = 64 * KIB;

/// Table bytes that stay mapped between attempts.
const TABLE_RESIDENT: usize = 64 * KIB;

/// Bytes of host memory that describe one instance. Stops components whose bookkeeping is larger
/// than their code.
const INSTANCE_SIZE: usize = MIB;

/// Frames kept of a guest's backtrace. Enough to see what recurses.
const BACKTRACE_FRAMES: usize = 64;

/// Pool slots beyond those of jobs, for components that are asked to describe themselves: so many
/// are asked at once, and others wait.
pub(crate) const SPARE_SLOTS: usize = 4;

/// An engine and where its memories come from.
pub(crate) struct Built {
    pub(crate) engine: Engine,
    pub(crate) allocation: Allocation,
    pub(crate) pagemap_scan: bool,
}

/// Builds the engine. Reserving a pool takes terabytes of address space, which some containers
/// and virtual machines do not give: whether they do is found out by trying.
pub(crate) fn build(settings: &SandboxSettings) -> Result<Built, StartError> {
    let pagemap_scan = PoolingAllocationConfig::is_pagemap_scan_available();
    let on_demand = |reason: String| {
        let engine = Engine::new(&config()).map_err(|error| StartError::Engine(error.into()))?;
        Ok(Built { engine, allocation: Allocation::OnDemand { reason }, pagemap_scan })
    };
    if settings.pooling == Pooling::Off {
        return on_demand("turned off by the settings".to_owned());
    }
    let mut pooled = config();
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings, pagemap_scan)));
    match Engine::new(&pooled) {
        Ok(engine) => Ok(Built { engine, allocation: Allocation::Pool, pagemap_scan }),
        Err(error) if settings.pooling == Pooling::Required => Err(StartError::Pool(error.into())),
        Err(error) => {
            let reason = format!("{error:#}");
            tracing::warn!(%reason, "no pool of guest memories: attempts start more slowly");
            on_demand(reason)
        }
    }
}

/// An engine that only compiles, for engines that [`build`] makes. How much it makes of the code
/// changes nothing of what the code means.
pub(crate) fn compiling(effort: Effort) -> wasmtime::Result<Engine> {
    let mut config = config();
    if effort == Effort::Quick {
        config
            .cranelift_opt_level(OptLevel::None)
            .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    Engine::new(&config)
}

fn config() -> Config {
    let mut config = Config::new();
    config
        // Metering and killing.
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(ASYNC_STACK)
        // Stacks pass from one tenant's guest to another's.
        .async_stack_zeroing(true)
        // What guests may be written in: components whose functions are synchronous.
        .wasm_component_model(true)
        .concurrency_support(false)
        .shared_memory(false)
        // Huge memories mean bulk instructions that nothing can interrupt.
        .wasm_memory64(false)
        .gc_support(false)
        .wasm_gc(false)
        // Where a guest was, without lines: `symbols` looks them up where it holds nobody up.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE_FRAMES))
        .generate_address_map(true)
        // Registering unwind information is quadratic in the number of loaded components, and
        // our own backtraces do not need it.
        .native_unwind_info(false)
        // Code.
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(true)
        // Memory: guard pages instead of bounds checks, data segments mapped copy-on-write.
        .memory_init_cow(true)
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .guard_before_linear_memory(true)
        .signals_based_traps(true);
    // The default, said aloud: an artefact of another wasmtime is never loaded.
    if let Err(error) = config.module_version(ModuleVersionStrategy::WasmtimeVersion) {
        tracing::error!(%error, "wasmtime refuses its own version");
    }
    config
}

fn pool(settings: &SandboxSettings, pagemap_scan: bool) -> PoolingAllocationConfig {
    let slots = settings.slots.max(1).saturating_add(SPARE_SLOTS);
    // Totals are what all slots at their caps can use: the pool cannot run out because one
    // tenant's components have more parts than another's.
    let total = |each: usize| u32::try_from(slots.saturating_mul(each)).unwrap_or(u32::MAX);
    let each = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let max_memory = usize::try_from(settings.max_memory_bytes).unwrap_or(usize::MAX);

    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(total(1))
        .total_core_instances(total(MAX_INSTANCES))
        .total_memories(total(MAX_MEMORIES))
        .total_tables(total(MAX_TABLES))
        .total_stacks(total(1))
        .max_core_instances_per_component(each(MAX_INSTANCES))
        .max_memories_per_component(each(MAX_MEMORIES))
        .max_tables_per_component(each(MAX_TABLES))
        .max_memories_per_module(each(MAX_MEMORIES))
        .max_tables_per_module(each(MAX_TABLES))
        .max_component_instance_size(INSTANCE_SIZE)
        .max_core_instance_size(INSTANCE_SIZE)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_memory_size(max_memory)
        .max_unused_warm_slots(total(1))
        .linear_memory_keep_resident(if pagemap_scan {
            MEMORY_RESIDENT
        } else {
            MEMORY_RESIDENT_BLIND
        })
        .table_keep_resident(TABLE_RESIDENT)
        .async_stack_keep_resident(STACK_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}
