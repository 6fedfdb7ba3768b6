//! `migrate`.

use crate::cli::roles::{MigrateArgs, MigrateCommand};
use crate::config::Config;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::{env, settings, text, wire};
use cofferdam_store::migrate::migration_sql;
use cofferdam_store::{MigrationStatus, SchemaName, Store};

/// Brings the schema up to date, or says where it is.
pub(super) fn run(args: &MigrateArgs, mut config: Config, printer: Printer) -> Result<Exit> {
    let command = args.command.unwrap_or(MigrateCommand::Up);
    if let MigrateCommand::Sql = command {
        let schema: String = config.get(&env::SCHEMA, args.database.schema.clone())?;
        return sql(schema, printer);
    }
    let database = settings::database(&mut config, &args.database, "migrate")?;
    wire::control_runtime()?.block_on(async {
        let store = wire::connect(&database).await?;
        let result = match command {
            MigrateCommand::Status => status(&store, printer).await,
            MigrateCommand::Up | MigrateCommand::Sql => up(&store, printer).await,
        };
        store.close().await;
        result
    })
}

fn sql(schema: String, printer: Printer) -> Result<Exit> {
    let schema =
        SchemaName::new(schema).map_err(|error| CommandError::hinted(Exit::Usage, &error))?;
    let sql = migration_sql(&schema);
    if printer.is_json() {
        Printer::object(&serde_json::json!({ "sql": sql }))?;
    } else {
        printer.lines(&sql)?;
    }
    Ok(Exit::Ok)
}

async fn up(store: &Store, printer: Printer) -> Result<Exit> {
    let applied = store.migrate().await.map_err(|error| wire::store_failed(&error))?;
    let status = store.migration_status().await.map_err(|error| wire::store_failed(&error))?;
    let names: Vec<_> = applied.iter().map(|one| format!("{} {}", one.version, one.name)).collect();
    if printer.is_json() {
        Printer::object(&serde_json::json!({
            "schema": status.schema,
            "version": status.current,
            "applied": names,
        }))?;
        return Ok(Exit::Ok);
    }
    for name in &names {
        printer.lines(&format!("applied {name}"))?;
    }
    printer.lines(&format!("schema {} is at version {}", status.schema, status.current))?;
    Ok(Exit::Ok)
}

async fn status(store: &Store, printer: Printer) -> Result<Exit> {
    let status = store.migration_status().await.map_err(|error| wire::store_failed(&error))?;
    let MigrationStatus { schema, current, latest, pending } = status;
    let names: Vec<_> = pending.iter().map(|(version, name)| format!("{version} {name}")).collect();
    if printer.is_json() {
        Printer::object(&serde_json::json!({
            "schema": schema,
            "version": current,
            "latest": latest,
            "pending": names,
        }))?;
    } else {
        let missing = if names.is_empty() { "none".to_owned() } else { names.join("\n") };
        printer.lines(&text::pairs(&[
            ("schema", schema),
            ("version", current.to_string()),
            ("latest", latest.to_string()),
            ("pending", missing),
        ]))?;
    }
    if current > latest {
        return Err(CommandError::failed("the schema is newer than this executable")
            .hint("use the executable that made it, or a newer one"));
    }
    if !pending.is_empty() {
        return Err(
            CommandError::failed("the schema is not up to date").hint("run `cofferdam migrate`")
        );
    }
    Ok(Exit::Ok)
}
