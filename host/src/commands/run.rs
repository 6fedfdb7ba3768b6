//! `run`: one attempt on this machine, without server and database.

use super::job_end::json_or_base64;
use super::{job_logs, local_file};
use crate::cli::run::RunArgs;
use crate::config::Config;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::input::Input;
use crate::printer::Printer;
use crate::signals::interruptible;
use crate::text::{self, plain};
use crate::{settings, wire};
use async_trait::async_trait;
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::limits::{LimitWish, Limits};
use cofferdam_core::log::LogLine;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{KindInfo, World};
use cofferdam_core::name::QueueName;
use cofferdam_core::outcome::{End, Failure, Outcome, Usage};
use cofferdam_core::settings::{KindSettings, limits, retry_policy};
use cofferdam_runner::{PayloadError, check_payload};
use cofferdam_sandbox::{Attempt, AttemptHost, JobInfo, Prepared, Reject, Sandbox};
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The sandbox describes the module and then runs it, never both at once.
const SLOTS: usize = 2;

/// Runs the module once.
pub(super) fn run(args: &RunArgs, config: &mut Config, printer: Printer) -> Result<Exit> {
    let caps = settings::caps(config)?;
    let sandbox = settings::sandbox(config, SLOTS)?;
    let bytes = local_file::component(&args.file)?;
    let found = local_file::manifest(args.manifest.as_deref(), &args.file)?;
    if let Some((path, _)) = &found {
        printer.note(&format!("Manifest: {}", path.display()));
    }
    let manifest = found.map(|(_, manifest)| manifest).unwrap_or_default();
    let input = args.input.as_ref().map_or_else(|| Ok(Vec::new()), Input::read)?;
    let options = options(args)?;
    wire::control_runtime()?.block_on(interruptible(async {
        let sandbox = wire::sandbox(sandbox)?;
        let (prepared, kinds) = prepare(&sandbox, bytes, &args.file, printer).await?;
        let kind = pick(&kinds, args)?;
        if prepared.world() == World::Handler && !(args.args.is_empty() && args.env.is_empty()) {
            return Err(CommandError::usage(
                "--arg and --env are for command jobs, and this is a handler",
            )
            .hint("give a handler its input with --input, and variables in its manifest"));
        }
        let input = checked(kind, input).await?;
        let settings = KindSettings::settle(kind, &manifest);
        let limits = limits(&options, &settings, &caps);
        let plan = Plan {
            args,
            manifest: &manifest,
            options: &options,
            settings: &settings,
            longest: caps.deadline,
        };
        let (outcome, host) =
            attempt(&sandbox, &prepared, kind, input, limits, &plan, printer).await;
        report(kind, outcome, &host, printer)
    }))
}

fn options(args: &RunArgs) -> Result<JobOptions> {
    let options = JobOptions {
        limits: LimitWish { deadline: args.deadline, fuel: args.fuel, memory_bytes: args.memory },
        args: args.args.clone(),
        env: args.env.iter().cloned().collect(),
        metadata: args.metadata.iter().cloned().collect(),
        ..JobOptions::default()
    };
    options.check().map_err(|error| CommandError::hinted(Exit::Usage, &error))?;
    Ok(options)
}

/// Compiles the component and asks it what it handles.
async fn prepare(
    sandbox: &Sandbox,
    bytes: Vec<u8>,
    file: &Path,
    printer: Printer,
) -> Result<(Prepared, Vec<KindInfo>)> {
    let refused = |reject: &Reject| {
        let mut error = CommandError::hinted(Exit::Failed, reject)
            .context(format!("`{}` cannot run", file.display()));
        error.code = Some(reject.code().to_owned());
        error
    };
    let spinner = printer.spinner("compiling");
    let worker = sandbox.clone();
    let compiled = tokio::task::spawn_blocking(move || {
        worker.inspect(&bytes).and_then(|inspection| worker.compile(&inspection.component))
    })
    .await;
    spinner.finish_and_clear();
    let prepared = compiled
        .map_err(|error| {
            CommandError::failed("the compiler stopped without an answer").caused_by(&error)
        })?
        .map_err(|reject| refused(&reject))?;
    let kinds = sandbox.describe(&prepared).await.map_err(|reject| refused(&reject))?;
    Ok((prepared, kinds))
}

fn pick<'a>(kinds: &'a [KindInfo], args: &RunArgs) -> Result<&'a KindInfo> {
    let names: Vec<_> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let offered = format!("it handles {}", names.join(", "));
    match (&args.kind, kinds) {
        (None, [only]) => Ok(only),
        (None, _) => Err(CommandError::usage("the module handles several kinds")
            .cause(offered)
            .hint("name one with --kind")),
        (Some(wanted), _) => kinds.iter().find(|kind| kind.name == *wanted).ok_or_else(|| {
            let error = CommandError::failed(format!("the module does not handle `{wanted}`"))
                .cause(offered);
            match crate::suggest::nearest(wanted.as_str(), names) {
                Some(near) => error.hint(format!("did you mean --kind {near}?")),
                None => error,
            }
        }),
    }
}

/// Gives the input back when it is what the kind takes. A server asks the same of every job.
async fn checked(kind: &KindInfo, input: Vec<u8>) -> Result<Vec<u8>> {
    let Some(schema) = kind.input_schema.clone() else { return Ok(input) };
    // Takes as long as schema and input are large; Ctrl-C shall be heard meanwhile.
    let checking = tokio::task::spawn_blocking(move || {
        check_payload(&schema, &input)?;
        Ok::<_, PayloadError>(input)
    });
    let checked = checking
        .await
        .map_err(|error| CommandError::failed("the input was not checked").caused_by(&error))?;
    checked.map_err(|error| {
        CommandError::failed(format!("`{}` does not take this input", kind.name))
            .caused_by(&error)
            .hint("the handler declares what it takes; a server refuses such a job, too")
    })
}

/// What was asked for, from all sides.
struct Plan<'a> {
    args: &'a RunArgs,
    manifest: &'a Manifest,
    options: &'a JobOptions,
    settings: &'a KindSettings,
    /// The longest deadline that an attempt may come to.
    longest: Duration,
}

async fn attempt(
    sandbox: &Sandbox,
    prepared: &Prepared,
    kind: &KindInfo,
    input: Vec<u8>,
    limits: Limits,
    plan: &Plan<'_>,
    printer: Printer,
) -> (Outcome, Arc<Here>) {
    let mut env = plan.manifest.grants.env.clone();
    env.extend(plan.options.env.clone());
    let queue = plan.settings.queue.clone().unwrap_or_else(QueueName::default_queue);
    let most = retry_policy(plan.options, plan.settings).max_attempts;
    let started = Instant::now();
    let host = Arc::new(Here {
        printer,
        attempt: plan.args.attempt,
        kept: Mutex::default(),
        deadline: Mutex::new(started + limits.deadline),
        latest: started + plan.longest,
    });
    let info = JobInfo {
        id: uuid::Uuid::now_v7().to_string(),
        kind: kind.name.to_string(),
        queue: queue.to_string(),
        tenant: "default".to_owned(),
        attempt: plan.args.attempt,
        max_attempts: most.max(plan.args.attempt),
        priority: Priority::default().get(),
        deadline_ms: u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX),
        metadata: plan.args.metadata.clone(),
        ..JobInfo::default()
    };
    let running = sandbox.run(
        prepared,
        Attempt {
            info: JobInfo { idempotency_key: info.id.clone(), ..info },
            input,
            args: plan.args.args.clone(),
            env: env.into_iter().collect(),
            deadline: started + limits.deadline,
            lease_until: None,
            limits,
            last_checkpoint: None,
            resumed: None,
            host: host.clone(),
        },
    );
    (running.outcome().await, host)
}

/// The host of the attempt: the terminal.
struct Here {
    printer: Printer,
    attempt: u32,
    /// The lines of the log, for `--json`.
    kept: Mutex<Vec<LogLine>>,
    deadline: Mutex<Instant>,
    /// What no extension goes past.
    latest: Instant,
}

#[async_trait]
impl AttemptHost for Here {
    fn log(&self, line: LogLine) {
        if self.printer.is_json() {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            return;
        }
        let LogLine { at_ms, level, message, fields } = line;
        self.printer.note(&job_logs::line_of(self.attempt, at_ms, level, &message, &fields));
    }

    fn progress(&self, percent: u8, note: String) {
        self.printer.note(&format!("{percent}% {}", plain(&note)));
    }

    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String> {
        self.printer.note(&format!("checkpoint of {}", text::bytes(bytes.len() as u64)));
        Ok(())
    }

    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        let mut deadline = self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        *deadline = deadline.checked_add(by).unwrap_or(self.latest).min(self.latest);
        Ok(deadline.saturating_duration_since(Instant::now()))
    }
}

/// What `run --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    kind: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    backtrace: String,
    usage: Usage,
    logs: Vec<LogLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_base64: Option<String>,
}

fn report(kind: &KindInfo, outcome: Outcome, host: &Here, printer: Printer) -> Result<Exit> {
    let Outcome { end, usage } = outcome;
    let logs = std::mem::take(&mut *host.kept.lock().unwrap_or_else(PoisonError::into_inner));
    let (exit, word) = match &end {
        End::Completed(_) => (Exit::Ok, "completed"),
        End::Failed(failure) if failure.class.is_trap_or_limit() => (Exit::Limit, "failed"),
        End::Failed(_) => (Exit::Failed, "failed"),
    };
    if printer.is_json() {
        let mut report = Report {
            kind: kind.name.to_string(),
            outcome: word,
            class: None,
            code: None,
            message: None,
            backtrace: String::new(),
            usage,
            logs,
            output: None,
            output_base64: None,
        };
        match end {
            End::Completed(bytes) => (report.output, report.output_base64) = json_or_base64(&bytes),
            End::Failed(failure) => {
                report.class = Some(failure.class.to_string());
                report.code = Some(failure.code);
                report.message = Some(failure.message);
                report.backtrace = failure.backtrace;
            }
        }
        Printer::object(&report)?;
        return Ok(exit);
    }
    match end {
        End::Completed(bytes) => {
            Printer::bytes(&bytes)?;
            // A terminal shows the report on a line of its own.
            let gap = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
            printer.note(&format!("{gap}{}", figures("completed", &usage)));
            Ok(exit)
        }
        End::Failed(failure) => {
            printer.note(&figures("failed", &usage));
            Err(failed(kind, failure, exit))
        }
    }
}

fn failed(kind: &KindInfo, failure: Failure, exit: Exit) -> CommandError {
    let Failure { class, code, message, backtrace, .. } = failure;
    let mut error = CommandError::new(exit, format!("`{}` failed: {class}", kind.name));
    let named = code.is_empty() || code == class.to_string();
    error = error.cause(if named { message } else { format!("{message} ({code})") });
    if !backtrace.is_empty() {
        error = error.cause(format!("in the guest\n{backtrace}"));
    }
    error.code = Some(class.to_string());
    error
}

/// What the attempt used, below each other.
fn figures(outcome: &str, usage: &Usage) -> String {
    let micros = |micros| text::took(Duration::from_micros(micros));
    text::pairs(&[
        ("outcome", outcome.to_owned()),
        ("fuel", text::grouped(usage.fuel)),
        ("peak memory", text::bytes(usage.peak_memory_bytes)),
        ("wall", micros(usage.wall_micros)),
        ("cpu", micros(usage.cpu_micros)),
        ("log", text::bytes(usage.log_bytes)),
        ("output", text::bytes(usage.output_bytes)),
    ])
    .trim_end()
    .to_owned()
}
