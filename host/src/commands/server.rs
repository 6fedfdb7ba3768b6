//! `server`.

use super::role::Server;
use crate::cli::roles::ServerArgs;
use crate::config::Config;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{self, ServerSettings};
use crate::signals::Signals;
use crate::{env, telemetry, wire};
use cofferdam_runner::Modules;
use tokio_util::sync::CancellationToken;

/// A server runs no jobs, but a sandbox has at least one place for one.
const NO_JOBS: usize = 1;

/// Serves HTTP until told to stop.
pub(super) fn run(args: &ServerArgs, mut config: Config, printer: Printer) -> Result<Exit> {
    let database = settings::database(&mut config, &args.database, "server")?;
    let server = ServerSettings::settle(&mut config, args.listen)?;
    let sandbox = settings::sandbox(&mut config, NO_JOBS)?;
    let cache = config.get(&env::MODULE_CACHE, None)?;
    let key = settings::key(&mut config)?;
    telemetry::start(&mut config, telemetry::DEFAULT)?;
    wire::control_runtime()?.block_on(async {
        let signals = Signals::listen()?;
        let listener = wire::listen(server.listen).await?;
        let address = listener.local_addr()?;
        let store = wire::connect_migrated(&database).await?;
        let modules = Modules::new(store.clone(), wire::sandbox(sandbox)?, cache);
        let secrets = wire::secrets(&store, key.as_ref());
        let app = wire::app(&store, &modules, &secrets, &server, &database.schema, address).await?;

        let stop = CancellationToken::new();
        let task = tokio::spawn(cofferdam_api::serve(listener, app, stop.clone()));
        let mut server = Server { task, stop };
        let ready =
            serde_json::json!({ "url": format!("http://{address}"), "pid": std::process::id() });
        if printer.is_json() {
            Printer::object(&ready)?;
        }
        printer.note(&format!("Serving on http://{address}. Ctrl-C stops."));
        let failed = tokio::select! {
            () = signals.stop.cancelled() => None,
            error = server.ended() => Some(error),
        };
        if let Some(error) = failed {
            return Err(error);
        }
        tokio::select! {
            () = server.stop() => {}
            () = signals.hurry.cancelled() => {}
        }
        store.close().await;
        Ok(Exit::Ok)
    })
}
