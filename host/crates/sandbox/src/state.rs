//! What an attempt's store carries.

use crate::attempt::AttemptHost;
use crate::host::Http;
use crate::limiter::Limiter;
use crate::vitals::Vitals;
use cofferdam_core::wait::{CallbackToken, Resumption};
use std::sync::Arc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

/// The data of one store.
pub(crate) struct State {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) host: Arc<dyn AttemptHost>,
    /// What requests are counted and sent by.
    pub(crate) http: Http,
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
        let resources = usize::try_from(vitals.limits.resources).unwrap_or(usize::MAX);
        table.set_max_capacity(resources);
        let http = Http::new(Arc::clone(&host), Arc::clone(&vitals));
        let limiter = Limiter::new(Arc::clone(&vitals), most_memory);
        Self { wasi, table, limiter, vitals, host, http, checkpoint, resumed, callback: None }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.http.requests,
            table: &mut self.table,
            ctx: &mut self.http.ctx,
        }
    }
}
