//! A run, from its first process to its report.

use crate::client::Client;
use crate::clock::{self, Nanos};
use crate::executioner::{self, Executions};
use crate::faults::{Injector, Log};
use crate::fleet::Fleet;
use crate::journal::{Journal, Poison};
use crate::ledger::Evidence;
use crate::postgres::Postgres;
use crate::reaper::Reaper;
use crate::report::Report;
use crate::role::Roles;
use crate::rows::Rows;
use crate::schedule::{Kind, Schedule};
use crate::skew::Skew;
use crate::traffic::{self, User};
use crate::work::{Book, Maker};
use crate::{rest, work};
use anyhow::{Context, Result, ensure};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The executable of the platform.
    pub executable: PathBuf,
    /// The component of the example `misbehave`.
    pub component: Vec<u8>,
    /// What the schedule and the jobs are made from.
    pub seed: u64,
    /// How long to inject faults. Each kind comes once, even when that takes longer.
    pub duration: Duration,
    /// Whether to say on standard error what happens.
    pub loud: bool,
    /// Where to write what the processes logged.
    pub log: Option<PathBuf>,
}

/// Breaks a platform, and says what came of it. Whatever it started is gone when it returns.
///
/// Fails when the run itself could not be carried out. What the platform did wrong is in the report.
pub fn run(settings: &Settings) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let name = format!("cofferdam-chaos-{}-{}", std::process::id(), settings.seed);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let reaper = Arc::new(Reaper::start()?);
        reaper.folder(&folder);
        let ran = Stage::set(settings, &folder, &reaper).await;
        let report = match ran {
            Ok(stage) => {
                let report = stage.perform(settings).await;
                let (journal, start) = (stage.journal.clone(), stage.start);
                let cleared = stage.clear().await;
                if let Some(log) = &settings.log {
                    std::fs::write(log, journal.text(start))?;
                }
                // A run that cannot be carried out may be the fault of what went wrong before.
                let report = report.with_context(|| journal.defects().join("\n"));
                report.and_then(|report| cleared.map(|()| report))
            }
            Err(error) => Err(error),
        };
        std::fs::remove_dir_all(&folder).context("cannot remove the folder of the run")?;
        if report.is_ok()
            && let Ok(reaper) = Arc::try_unwrap(reaper)
        {
            reaper.dismiss();
        }
        report
    })
}

/// A platform that is ready to be broken.
struct Stage {
    fleet: Arc<Fleet>,
    postgres: Arc<Postgres>,
    journal: Arc<Journal>,
    poisoned: std::sync::Mutex<Option<UnboundedReceiver<Poison>>>,
    user: User,
    component: PathBuf,
    start: Nanos,
}

impl Stage {
    async fn set(settings: &Settings, folder: &Path, reaper: &Arc<Reaper>) -> Result<Self> {
        let postgres = Arc::new(Postgres::start(&data_dir(folder), reaper.clone()).await?);
        let component = folder.join("misbehave.wasm");
        std::fs::write(&component, &settings.component)?;
        let skew = Skew::compile(folder)?;
        // The port is free now, and is nobody else's for as long as no one asks for just this one.
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let roles = Roles { executable: settings.executable.clone(), listen, skew };
        roles.migrate(postgres.url())?;
        let (journal, poisoned) = Journal::new();
        let journal = Arc::new(journal);
        let fleet = Fleet::start(roles, &postgres, journal.clone(), reaper.clone()).await?;
        let user = User {
            client: Client::new(listen)?,
            book: Arc::new(Book::default()),
            journal: journal.clone(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let name = work::MODULE.split('/').next().unwrap_or(work::MODULE).to_owned();
        traffic::push(&fleet, component.clone(), name).await?;
        let (start, poisoned) = (clock::now(), std::sync::Mutex::new(Some(poisoned)));
        Ok(Self { fleet, postgres, journal, poisoned, user, component, start })
    }

    async fn perform(&self, settings: &Settings) -> Result<Report> {
        let (log, executions) = (Arc::new(Log::default()), Arc::new(Executions::default()));
        let poisoned = self.poisoned.lock().ok().and_then(|mut poisoned| poisoned.take());
        let poisoned = poisoned.context("a stage is for one run")?;
        let (fleet, journal) = (self.fleet.clone(), self.journal.clone());
        let executioner =
            tokio::spawn(executioner::run(poisoned, fleet, journal, executions.clone()));
        let mut maker = Maker::new(settings.seed);
        let idle = rest::warm_up(&self.fleet, &self.postgres, &self.user, &mut maker).await?;
        ensure!(idle.is_empty(), "{idle:?} did not start to work");
        let submitter = tokio::spawn(traffic::submitter(
            self.user.clone(),
            self.fleet.clone(),
            self.component.clone(),
            maker,
            settings.seed ^ 1,
        ));
        let canceller = tokio::spawn(traffic::canceller(self.user.clone(), settings.seed ^ 2));

        let begun = Instant::now();
        self.break_things(settings, &log).await?;
        let seconds = begun.elapsed().as_secs_f64();
        self.user.stop.store(true, Ordering::Relaxed);
        let maker = submitter.await??;
        canceller.await?;

        let settled = Instant::now();
        let complaints = rest::settle(&self.fleet, &self.postgres, &self.user, maker).await?;
        let settled_seconds = settled.elapsed().as_secs_f64();
        // What still runs would leave traces that the rows know nothing of.
        if !complaints.is_empty() {
            self.fleet.stop().await;
        }
        let rows = Rows::read(&mut self.postgres.connect().await?).await?;
        let disagreements = rest::compare(&self.user.client, &rows).await?;
        self.fleet.stop().await;
        executioner.abort();
        for what in complaints.into_iter().chain(disagreements) {
            self.journal.defect(what);
        }
        let exits = self.fleet.exits();
        let mut report =
            Report { seed: settings.seed, seconds, settled_seconds, exits, ..Report::default() };
        if !self.fleet.has_skew() {
            let why = "there is no C compiler `cc`".to_owned();
            report.skipped.insert(Kind::Skew.name().to_owned(), why);
        }
        self.evidence(rows, &log, &executions).check(&mut report);
        Ok(report)
    }

    async fn break_things(&self, settings: &Settings, log: &Arc<Log>) -> Result<()> {
        let mut injector = Injector::new(self.fleet.clone(), self.postgres.clone(), log.clone());
        let end = Instant::now() + settings.duration;
        for (planned, fault) in Schedule::new(settings.seed).enumerate() {
            if planned >= Kind::ALL.len() && Instant::now() >= end {
                break;
            }
            tokio::time::sleep(fault.pause).await;
            injector.inject(&fault).await?;
            if settings.loud {
                self.say(log);
            }
        }
        injector.calm().await;
        Ok(())
    }

    #[expect(clippy::print_stderr, reason = "whoever asked for it wants to see what happens")]
    fn say(&self, log: &Log) {
        if let Some(fault) = log.all().last() {
            let at = clock::seconds(self.start, fault.at);
            eprintln!("{at:7.1} s  {}: {}", fault.kind, fault.what);
        }
    }

    fn evidence(&self, rows: Rows, log: &Log, executions: &Executions) -> Evidence {
        let processes = self.fleet.processes();
        let kills = processes.iter().filter_map(|it| it.killed().map(|at| (it.pid, at)));
        Evidence {
            start: self.start,
            jobs: self.user.book.all(),
            rows,
            effects: self.journal.effects(),
            faults: log.all(),
            executions: executions.all(),
            kills: kills.collect(),
            journal: self.journal.clone(),
        }
    }

    /// Ends what is left and removes what was written.
    async fn clear(self) -> Result<()> {
        self.fleet.stop().await;
        let Self { fleet, postgres, .. } = self;
        drop(fleet);
        match Arc::try_unwrap(postgres) {
            Ok(postgres) => postgres.remove().await,
            // A task that failed holds it still. The reaper removes it when this process ends.
            Err(_) => Ok(()),
        }
    }
}

/// The data of Postgres lies beside the folder of the run, which its user may not enter.
fn data_dir(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push("-data");
    PathBuf::from(name)
}
