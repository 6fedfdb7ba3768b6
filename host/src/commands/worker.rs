//! `worker`, the role.

use super::shift::Shift;
use crate::cli::roles::WorkerArgs;
use crate::config::Config;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{self, WorkerFlags};
use crate::signals::Signals;
use crate::{telemetry, wire};
use cofferdam_runner::Modules;

/// Runs jobs until told to stop.
pub(super) fn run(args: WorkerArgs, mut config: Config, printer: Printer) -> Result<Exit> {
    let database = settings::database(&mut config, &args.database, "worker")?;
    let flags = WorkerFlags { slots: args.slots, queues: args.queues };
    let worker = settings::worker(&mut config, flags)?;
    let sandbox = settings::sandbox(&mut config, worker.slots)?;
    telemetry::start(&mut config, telemetry::DEFAULT)?;
    wire::control_runtime()?.block_on(async {
        let signals = Signals::listen()?;
        let store = wire::connect_migrated(&database).await?;
        let modules = Modules::new(store.clone(), wire::sandbox(sandbox)?, worker.module_cache);
        let slots = worker.slots;
        let shift = Shift::new(worker, store.clone(), modules, printer)?;
        let worker = shift.start().await?;
        if printer.is_json() {
            Printer::object(
                &serde_json::json!({ "worker": worker.id(), "pid": std::process::id() }),
            )?;
        }
        printer
            .note(&format!("Worker {} with {slots} slots. Ctrl-C drains and stops.", worker.id()));
        let exit = shift.work(worker, &signals, std::future::pending()).await;
        store.close().await;
        exit
    })
}
