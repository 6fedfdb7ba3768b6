//! Those who use the platform while it is being broken: one submits, one cancels.

use crate::client::{Cancelled, Client, Submitted};
use crate::clock::{self, Nanos};
use crate::fleet::Fleet;
use crate::journal::Journal;
use crate::work::{Book, Cancel, Job, Maker};
use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long somebody tries to get an answer at all.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long somebody tries to upload a module. Each try has it compiled, which takes tens of seconds
/// on a machine that does all of this, and ends with every server that is killed meanwhile.
const PUSH_PATIENCE: Duration = Duration::from_mins(5);

/// Between two tries.
const RETRY: Duration = Duration::from_millis(100);

/// Between two poison jobs.
const POISON_EVERY: Duration = Duration::from_secs(12);

/// What everybody who uses the platform needs.
#[derive(Clone)]
pub struct User {
    /// The API.
    pub client: Client,
    /// The jobs.
    pub book: Arc<Book>,
    /// Where defects go.
    pub journal: Arc<Journal>,
    /// Whether to stop.
    pub stop: Arc<AtomicBool>,
}

impl User {
    /// Submits jobs, again and again until somebody says that they are accepted.
    pub async fn submit(&self, jobs: Vec<Job>) -> Result<()> {
        let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        let bodies: Vec<Value> = jobs.iter().map(|job| job.body.clone()).collect();
        for job in jobs {
            self.book.enter(job);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.client.submit(&bodies).await {
                Ok(Submitted::Accepted) => break,
                Ok(Submitted::Refused(why)) => {
                    self.journal.defect(format!("the jobs {ids:?} are refused: {why}"));
                    break;
                }
                Err(error) => {
                    ensure!(Instant::now() < end, "nobody accepts jobs any more: {error:#}");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        let accepted = Some(clock::now());
        for id in ids {
            self.book.change(id, |job| job.accepted = accepted);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Submits a steady stream, with some poison in it.
pub async fn submitter(
    user: User,
    fleet: Arc<Fleet>,
    component: PathBuf,
    mut maker: Maker,
    seed: u64,
) -> Result<Maker> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut poison_at = Instant::now();
    while !user.stopped() {
        let mut jobs: Vec<_> =
            (0..random.random_range(1..=3)).map(|_| maker.job(clock::now())).collect();
        if Instant::now() >= poison_at {
            poison_at = Instant::now() + POISON_EVERY;
            if maker.poison_is_new() {
                push(&fleet, component.clone(), maker.poison_module()).await?;
            }
            jobs.push(maker.poison(clock::now()));
        }
        user.submit(jobs).await?;
        tokio::time::sleep(Duration::from_millis(random.random_range(250..650))).await;
    }
    Ok(maker)
}

/// Uploads the component under a name, as soon as there is somebody to upload it to.
pub async fn push(fleet: &Arc<Fleet>, component: PathBuf, name: String) -> Result<()> {
    let end = Instant::now() + PUSH_PATIENCE;
    loop {
        let (fleet, component, name) = (fleet.clone(), component.clone(), name.clone());
        let pushed = tokio::task::spawn_blocking(move || fleet.push(&component, &name)).await?;
        match pushed {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() >= end => {
                return Err(error).context("nobody accepts modules any more");
            }
            // One whose answer was lost has become a version of its own, which does no harm.
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Cancels jobs at random moments.
pub async fn canceller(user: User, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    while !user.stopped() {
        tokio::time::sleep(Duration::from_millis(random.random_range(200..1_200))).await;
        let Some(id) = user.book.pick(random.random_range(0..usize::MAX)) else { continue };
        // Until there is an answer, nobody knows.
        user.book.change(id, |job| job.cancel = Cancel::Unknown);
        let answer = user.client.cancel(id).await;
        let at: Nanos = clock::now();
        user.book.change(id, |job| {
            job.cancel = match answer {
                Ok(Cancelled::AtOnce) => Cancel::AtOnce(at),
                Ok(Cancelled::Requested) => Cancel::Requested(at),
                Ok(Cancelled::TooLate) => Cancel::None,
                Err(_) => Cancel::Unknown,
            };
        });
    }
}
