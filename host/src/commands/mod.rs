//! What the commands do: one file a verb.

mod attempt;
mod cluster;
mod completion;
mod dev;
mod dlq_list;
mod dlq_purge;
mod dlq_retry;
mod dlq_show;
mod doctor;
mod job_answer;
mod job_bytes;
mod job_cancel;
mod job_end;
mod job_list;
mod job_logs;
mod job_retry;
mod job_show;
mod job_submit;
mod job_wait;
mod local_file;
mod migrate;
mod module_activate;
mod module_delete;
mod module_inspect;
mod module_lift;
mod module_list;
mod module_push;
mod module_show;
mod paging;
mod queue_list;
mod queue_pause;
mod role;
mod run;
mod secret_delete;
mod secret_list;
mod secret_set;
mod server;
mod shift;
mod worker;
mod worker_drain;
mod worker_evict;
mod worker_list;

use crate::cli::dlq::DlqCommand;
use crate::cli::job::JobCommand;
use crate::cli::module::ModuleCommand;
use crate::cli::queue::QueueCommand;
use crate::cli::roles::WorkerCommand;
use crate::cli::secret::SecretCommand;
use crate::cli::{Cli, Command, Global};
use crate::client::Client;
use crate::config::Config;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::ClientSettings;
use crate::signals::interruptible;
use std::future::Future;

/// Runs a command.
pub(crate) fn run(cli: Cli, printer: Printer) -> Result<Exit> {
    let Cli { global, command } = cli;
    let mut config = Config::load(global.config.as_deref())?;
    match command {
        Command::Attempt { parent } => attempt::run(parent),
        Command::Completion { shell } => completion::run(shell),
        Command::Dev(args) => dev::run(&args, config, printer),
        Command::Server(args) => server::run(&args, config, printer),
        Command::Worker(args) => match args.command {
            None => worker::run(args, config, printer),
            Some(WorkerCommand::List) => {
                client(config, global, async |client| worker_list::run(&client, printer).await)
            }
            Some(WorkerCommand::Drain { id }) => {
                client(config, global, async |client| worker_drain::run(id, &client, printer).await)
            }
            Some(WorkerCommand::Evict { id }) => {
                client(config, global, async |client| worker_evict::run(id, &client, printer).await)
            }
        },
        Command::Cluster => {
            client(config, global, async |client| cluster::run(&client, printer).await)
        }
        Command::Migrate(args) => migrate::run(&args, config, printer),
        Command::Doctor(args) => doctor::run(&args, config, printer),
        Command::Run(args) => run::run(&args, &mut config, printer),
        Command::Module(command) => {
            client(config, global, async |client| module(command, &client, printer).await)
        }
        Command::Job(command) => {
            client(config, global, async |client| job(command, &client, printer).await)
        }
        Command::Dlq(command) => {
            client(config, global, async |client| dlq(command, &client, printer).await)
        }
        Command::Queue(command) => {
            client(config, global, async |client| queue(command, &client, printer).await)
        }
        Command::Secret(command) => {
            client(config, global, async |client| secret(command, &client, printer).await)
        }
    }
}

/// Runs a command that talks to a server.
fn client<F: Future<Output = Result<Exit>>>(
    mut config: Config,
    global: Global,
    command: impl FnOnce(Client) -> F,
) -> Result<Exit> {
    let settings = ClientSettings::settle(&mut config, global.server)?;
    // Two providers could be linked in one day; naming one keeps the choice ours.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed before");
    }
    let client = Client::new(&settings)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::failed("cannot start a runtime").caused_by(&error))?
        .block_on(interruptible(command(client)))
}

async fn module(command: ModuleCommand, client: &Client, printer: Printer) -> Result<Exit> {
    match command {
        ModuleCommand::Push(args) => module_push::run(&args, client, printer).await,
        ModuleCommand::List(page) => module_list::run(page, client, printer).await,
        ModuleCommand::Show { module } => module_show::run(&module, client, printer).await,
        ModuleCommand::Activate { version: (name, version) } => {
            module_activate::run(&name, &version, client, printer).await
        }
        ModuleCommand::Lift { version: (name, version) } => {
            module_lift::run(&name, &version, client, printer).await
        }
        ModuleCommand::Delete { module } => module_delete::run(&module, client, printer).await,
        ModuleCommand::Inspect { file } => module_inspect::run(&file, printer),
    }
}

async fn job(command: JobCommand, client: &Client, printer: Printer) -> Result<Exit> {
    match command {
        JobCommand::Submit(args) => job_submit::run(*args, client, printer).await,
        JobCommand::List(args) => job_list::run(args, client, printer).await,
        JobCommand::Show { id } => job_show::run(id, client, printer).await,
        JobCommand::Wait { id, timeout } => job_wait::run(id, timeout, client, printer).await,
        JobCommand::Logs { id, follow, attempt } => {
            job_logs::run(id, follow, attempt, client, printer).await
        }
        JobCommand::Output(args) => job_bytes::run(&args, "output", client, printer).await,
        JobCommand::Input(args) => job_bytes::run(&args, "input", client, printer).await,
        JobCommand::Cancel { id } => job_cancel::run(id, client, printer).await,
        JobCommand::Answer { token, input } => {
            job_answer::run(&token, input, client, printer).await
        }
        JobCommand::Retry { id, version } => {
            job_retry::run(id, version.version, client, printer).await
        }
    }
}

async fn dlq(command: DlqCommand, client: &Client, printer: Printer) -> Result<Exit> {
    match command {
        DlqCommand::List { kind, page } => dlq_list::run(kind, page, client, printer).await,
        DlqCommand::Show { id } => dlq_show::run(id, client, printer).await,
        DlqCommand::Retry { which, version } => {
            dlq_retry::run(which, version.version, client, printer).await
        }
        DlqCommand::Purge { which, older_than } => {
            dlq_purge::run(which, older_than, client, printer).await
        }
    }
}

async fn queue(command: QueueCommand, client: &Client, printer: Printer) -> Result<Exit> {
    match command {
        QueueCommand::List => queue_list::run(client, printer).await,
        QueueCommand::Pause { queue } => queue_pause::run(&queue, "pause", client, printer).await,
        QueueCommand::Resume { queue } => queue_pause::run(&queue, "resume", client, printer).await,
    }
}

async fn secret(command: SecretCommand, client: &Client, printer: Printer) -> Result<Exit> {
    match command {
        SecretCommand::Set { name } => secret_set::run(&name, client, printer).await,
        SecretCommand::List => secret_list::run(client, printer).await,
        SecretCommand::Delete { name } => secret_delete::run(&name, client, printer).await,
    }
}
