//! What an attempt's store carries.

use crate::attempt::AttemptHost;
use crate::limiter::{Limiter, MAX_RESOURCES};
use crate::vitals::Vitals;
use cofferdam_core::wait::{CallbackToken, Resumption};
use std::sync::Arc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The data of one store.
pub(crate) struct State {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) host: Arc<dyn AttemptHost>,
    /// What `last-checkpoint` answers.
    pub(crate) checkpoint: Option<Vec<u8>>,
    /// What `resumed` answers.
    pub(crate) resumed: Option<Resumption>,
    /// The last token that the guest was given.
    pub(crate) callback: Option<CallbackToken>,
}

impl State {
    pub(crate) fn new(
        wasi: WasiCtx,
        vitals: Arc<Vitals>,
        host: Arc<dyn AttemptHost>,
        most_memory: u64,
        checkpoint: Option<Vec<u8>>,
        resumed: Option<Resumption>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let limiter = Limiter::new(Arc::clone(&vitals), most_memory);
        Self { wasi, table, limiter, vitals, host, checkpoint, resumed, callback: None }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
