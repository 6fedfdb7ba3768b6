//! How long it takes until the job of a worker that was killed runs again, and until the sweeps of
//! a leader that was killed go on. Real processes with the default settings.

use super::fleet::Process;
use crate::platform::Base;
use crate::stats::{Report, percentile};
use anyhow::{Context as _, Result, bail};
use cofferdam_core::ids::{JobId, TenantId, WorkerId};
use cofferdam_core::job::{JobOptions, NewJob, Priority};
use cofferdam_core::state::JobState;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How often the database is asked. The figures are late by as much.
const LOOK: Duration = Duration::from_millis(10);

/// How long anything may take.
const BOUND: Duration = Duration::from_mins(5);

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    executable: &Path,
    fast: usize,
    slow: usize,
    report: &mut Report,
) -> Result<()> {
    runtime.block_on(async {
        let base = Base::start(runtime, guest).await?;
        for (path, samples, variables, bound) in [
            ("fast", fast, [("COFFERDAM_CRASH_GRACE", "5s")], 6.0),
            ("slow", slow, [("COFFERDAM_CRASH_GRACE", "0s")], 120.0),
        ] {
            let bench = Bench { base: &base, executable, variables: &variables };
            let (mut others, mut leaders, mut handovers) = (Vec::new(), Vec::new(), Vec::new());
            let mut fleet = [bench.start()?, bench.start()?];
            for sample in 0..samples {
                // Half of the samples kill the leader, which somebody has to replace first.
                let leader = sample % 2 == 1;
                let killed = bench.sample(&mut fleet, leader).await?;
                if leader { &mut leaders } else { &mut others }.push(killed.restarted);
                handovers.extend(killed.handed_over);
            }
            for (who, times, bound) in [("worker", others, Some(bound)), ("leader", leaders, None)]
            {
                for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
                    if !times.is_empty() {
                        let what = format!("{path} path: {who} killed to job restarted, {name}");
                        report.add(what, percentile(&times, share), "s", bound);
                    }
                }
            }
            if !handovers.is_empty() {
                let what = format!("{path} path: leader killed to the next leader, p99");
                report.add(what, percentile(&handovers, 0.99), "s", Some(15.0));
            }
        }
        base.stop().await
    })
}

struct Bench<'a> {
    base: &'a Base,
    executable: &'a Path,
    variables: &'a [(&'a str, &'a str)],
}

/// What followed from a kill, in seconds after it.
struct Killed {
    restarted: f64,
    handed_over: Option<f64>,
}

impl Bench<'_> {
    fn start(&self) -> Result<Process> {
        Process::start(self.executable, &self.base.cluster.url("bench"), self.variables)
    }

    /// Has a job run on one of two workers, kills that one, and puts another in its place.
    async fn sample(&self, fleet: &mut [Process; 2], leader: bool) -> Result<Killed> {
        let leads = self.leader_among(fleet).await?;
        // A job runs on whoever is quicker. When that is the wrong one, another may be luckier.
        let (job, gone) = loop {
            let job = self.submit().await?;
            let runs = self.running(job, None).await?;
            if (runs == leads) == leader {
                break (job, runs);
            }
            self.base.store.cancel(TenantId::DEFAULT, job).await?;
        };
        let spare = self.start()?;
        let [first, second] = fleet;
        let place = if first.id == gone { first } else { second };
        let dead = std::mem::replace(place, spare);
        let start = Instant::now();
        dead.kill()?;
        let handed_over = if leader { Some(self.next_leader(gone, start).await?) } else { None };
        self.running(job, Some(gone)).await?;
        let restarted = start.elapsed().as_secs_f64();
        self.base.store.cancel(TenantId::DEFAULT, job).await?;
        Ok(Killed { restarted, handed_over })
    }

    async fn submit(&self) -> Result<JobId> {
        let job = NewJob {
            id: None,
            module: "bench/slow".parse()?,
            queue: None,
            priority: Priority::default(),
            run_at: None,
            payload: br#"{"ms": 600000}"#.to_vec(),
            options: JobOptions::default(),
        };
        let accepted = self.base.submitter.submit(TenantId::DEFAULT, vec![job]).await?;
        Ok(accepted.first().context("no answer")?.id)
    }

    /// Waits until the job runs on another worker than `not`.
    async fn running(&self, job: JobId, not: Option<WorkerId>) -> Result<WorkerId> {
        let start = Instant::now();
        while start.elapsed() < BOUND {
            let found = self.base.store.job(TenantId::DEFAULT, job).await?.context("no job")?;
            match found.worker {
                Some(worker) if found.state == JobState::Running && Some(worker) != not => {
                    return Ok(worker);
                }
                _ => tokio::time::sleep(LOOK).await,
            }
        }
        bail!("the job does not run");
    }

    /// Waits until one of the two leads.
    async fn leader_among(&self, fleet: &[Process; 2]) -> Result<WorkerId> {
        let start = Instant::now();
        while start.elapsed() < BOUND {
            match self.base.store.cluster().await?.leader {
                Some(leader) if fleet.iter().any(|worker| worker.id == leader.worker) => {
                    return Ok(leader.worker);
                }
                _ => tokio::time::sleep(LOOK).await,
            }
        }
        bail!("nobody leads");
    }

    /// Waits until somebody else leads, and says how long that took.
    async fn next_leader(&self, gone: WorkerId, start: Instant) -> Result<f64> {
        while start.elapsed() < BOUND {
            match self.base.store.cluster().await?.leader {
                Some(leader) if leader.worker != gone => return Ok(start.elapsed().as_secs_f64()),
                _ => tokio::time::sleep(LOOK).await,
            }
        }
        bail!("nobody leads");
    }
}
