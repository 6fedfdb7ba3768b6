//! `doctor`: what this machine, the database and the settings are fit for.

mod database;
mod key;
mod machine;
mod recovery;
mod sandbox;
mod walls;

use crate::cli::roles::DoctorArgs;
use crate::config::{Config, Setting};
use crate::error::{CommandError, Result, Shown};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{self, ServerSettings, WorkerFlags};
use crate::text::{self, plain};
use crate::{env, telemetry, wire};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// It works, but not as well as it could.
    Warn,
    Fail,
    /// There is nothing to check.
    Skip,
}

/// One check: what was found and what to do about it.
#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, found: impl Into<String>) -> Self {
        Self { name, status, found: found.into(), advice: None }
    }

    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, found)
    }

    /// A check that ended with an error, on one line.
    fn failed(name: &'static str, error: CommandError) -> Self {
        let Shown { message, causes, hints, .. } = error.into_shown();
        let found = [vec![message], causes].concat().join(": ");
        Self { advice: hints.into_iter().next(), ..Self::new(name, Status::Fail, found) }
    }

    fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// A setting as `--json` prints it.
#[derive(Debug, Serialize)]
struct Settled {
    name: &'static str,
    value: String,
    origin: String,
}

/// Everything that was found out.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    healthy: bool,
    checks: Vec<Check>,
    settings: Vec<Settled>,
    /// What follows from the settings of recovery.
    bounds: Vec<recovery::Bound>,
}

/// Checks everything there is to check.
pub(super) fn run(args: &DoctorArgs, mut config: Config, printer: Printer) -> Result<Exit> {
    let worker = settings::worker(&mut config, WorkerFlags::default())?;
    let sandbox_settings = settings::sandbox(&mut config, worker.slots)?;
    ServerSettings::settle(&mut config, None)?;
    for variable in [&env::SERVER, &env::REQUEST_TIMEOUT, &env::LOG_FORMAT] {
        config.find::<String>(variable, None)?;
    }
    config.get_or(&env::LOG, None, || telemetry::DEFAULT.to_owned())?;
    let data_dir: PathBuf = config.get(&env::DATA_DIR, None)?;
    let key = key::check(&mut config);
    let url = settings::find_database_url(&mut config, &args.database)?;
    let named = url.is_some();
    let store = settings::store(&mut config, &args.database, "doctor", url.unwrap_or_default())?;

    let mut checks = machine::checks(&worker);
    checks.push(key);
    checks.extend(recovery::checks(&worker));
    checks.extend(wire::control_runtime()?.block_on(async {
        let mut checks = vec![sandbox::check(sandbox_settings)];
        checks.extend(walls::checks());
        checks.push(database::binaries(&data_dir).await);
        if named {
            checks.extend(database::checks(&store).await);
        } else {
            let skipped = Check::new("database", Status::Skip, "no database is named");
            checks.push(
                skipped.advice("`cofferdam dev` brings its own; other roles need --database-url"),
            );
        }
        checks
    }));
    checks.extend(unknown_variables(&config));

    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        healthy: checks.iter().all(|check| check.status != Status::Fail),
        checks,
        settings: config.settled().into_iter().map(settled).collect(),
        bounds: recovery::bounds(&worker),
    };
    printer.data(&findings, render)?;
    Ok(if findings.healthy { Exit::Ok } else { Exit::Failed })
}

fn unknown_variables(config: &Config) -> impl Iterator<Item = Check> {
    config.unknown_variables().into_iter().map(|(name, nearest)| {
        let check =
            Check::new("environment", Status::Warn, format!("{} means nothing", plain(&name)));
        match nearest {
            Some(nearest) => check.advice(format!("did you mean {nearest}?")),
            None => check,
        }
    })
}

fn settled(setting: Setting) -> Settled {
    let name = setting.variable.key.unwrap_or(setting.variable.name);
    Settled { name, value: setting.value, origin: setting.origin.to_string() }
}

fn render(findings: &Findings) -> String {
    let mut shown = String::new();
    let width = findings.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    for Check { name, status, found, advice } in &findings.checks {
        let mark = match status {
            Status::Ok => "ok  ".green().to_string(),
            Status::Warn => "warn".yellow().to_string(),
            Status::Fail => "fail".red().to_string(),
            Status::Skip => "skip".dimmed().to_string(),
        };
        let _ =
            writeln!(shown, "{mark}  {name:width$}  {}", text::indented(&plain(found), width + 8));
        if let Some(advice) = advice {
            let _ = writeln!(shown, "{:1$}hint: {advice}", "", width + 8);
        }
    }
    shown.push_str("\nSettings\n");
    let rows = findings.settings.iter().map(|setting| {
        [format!("  {}", setting.name), plain(&setting.value), setting.origin.clone()]
    });
    shown.push_str(&Printer::table(["  name", "value", "from"], rows));
    shown.push_str("\n\nRecovery\n");
    let rows = findings.bounds.iter().map(recovery::Bound::row);
    shown.push_str(&Printer::table(["  when", "then within", "which is"], rows));
    shown
}
