//! The least that a fresh sandbox for each attempt can cost: wasmtime with the engine settings of
//! the sandbox, in a loop on one thread, without limits on output and logs, kill switches, budgets
//! or bookkeeping.

use wasmtime::component::{Component, HasSelf, InstancePre, Linker, ResourceTable};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store,
    UpdateDeadline, bail, format_err,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

wasmtime::component::bindgen!({
    path: "../wit",
    world: "handler-full",
    imports: { default: async },
    exports: { default: async },
});

use cofferdam::job::{control, jobs, log, types};

/// A loop over one component.
pub(crate) struct Bare {
    engine: Engine,
    handler: HandlerFullPre<Guest>,
}

/// What a store holds.
struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl Bare {
    /// Compiles the component.
    pub(crate) fn new(component: &[u8]) -> Result<Self> {
        let engine = Engine::new(&config())?;
        let component = Component::from_binary(&engine, component)?;
        let mut linker: Linker<Guest> = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        log::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
        control::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
        jobs::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
        let pre: InstancePre<Guest> = linker.instantiate_pre(&component)?;
        Ok(Self { engine, handler: HandlerFullPre::new(pre)? })
    }

    /// Runs `attempts` of `echo`, one after the other.
    pub(crate) async fn run(&self, attempts: usize, payload: usize) -> Result<()> {
        let info = info();
        for _ in 0..attempts {
            let guest = Guest { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
            let mut store = Store::new(&self.engine, guest);
            store.set_fuel(u64::MAX / 2)?;
            store.set_epoch_deadline(1);
            store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
            let handler = self.handler.instantiate_async(&mut store).await?;
            let output = handler
                .cofferdam_job_handler()
                .call_handle(&mut store, &info, &vec![7; payload])
                .await?
                .map_err(|error| format_err!("the echo failed: {}", error.message))?;
            if output.len() != payload {
                bail!("the echo is not what was said");
            }
        }
        Ok(())
    }
}

/// The settings of the sandbox's engine that have a price.
fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(132)
        .max_memory_size(1 << 30)
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(32 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .async_stack_zeroing(true)
        .concurrency_support(false)
        .gc_support(false)
        .wasm_gc(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

fn info() -> types::JobInfo {
    let id = "00000000-0000-0000-0000-000000000000".to_owned();
    types::JobInfo {
        id: id.clone(),
        kind: "echo".to_owned(),
        queue: "default".to_owned(),
        tenant: "default".to_owned(),
        attempt: 1,
        max_attempts: 1,
        priority: 2,
        created_at: 0,
        deadline_ms: 30_000,
        idempotency_key: id,
        workflow: None,
        metadata: Vec::new(),
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl types::Host for Guest {}

impl log::Host for Guest {
    async fn log(&mut self, _: log::Level, _: String, _: Vec<(String, String)>) {}
}

impl control::Host for Guest {
    async fn progress(&mut self, _: u8, _: String) {}
    async fn checkpoint(&mut self, _: Vec<u8>) -> Result<(), String> {
        Ok(())
    }
    async fn last_checkpoint(&mut self) -> Option<Vec<u8>> {
        None
    }
    async fn extend_deadline(&mut self, ms: u64) -> Result<u64, String> {
        Ok(ms)
    }
    async fn remaining_ms(&mut self) -> u64 {
        30_000
    }
    async fn cancelled(&mut self) -> bool {
        false
    }
}

impl jobs::Host for Guest {
    async fn create_callback(&mut self) -> String {
        String::new()
    }
    async fn suspend_until(&mut self, _: Option<String>, _: u64) -> Result<(), String> {
        Err("there is no job".to_owned())
    }
    async fn resumed(&mut self) -> Option<jobs::Resumption> {
        None
    }
}
