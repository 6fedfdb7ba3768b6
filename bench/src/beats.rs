//! What 32 runaways on the guest threads do to the statements of the control runtime: claims and
//! heartbeats, against a real database.

use crate::platform::Platform;
use crate::stats::{Report, percentile};
use anyhow::{Result, bail};
use cofferdam_core::ids::{JobId, LeaseKey, TenantId, WorkerId};
use cofferdam_core::job::{JobOptions, NewJob, Priority};
use cofferdam_core::limits::LimitWish;
use cofferdam_core::name::QueueName;
use cofferdam_store::{ClaimCursor, ClaimRequest};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// How many spin at once: as many as the worker has slots.
const RUNAWAYS: usize = 32;

/// How long each of them may spin.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long to wait for them to run.
const BOUND: Duration = Duration::from_secs(30);

pub(crate) fn measure(guest: &[u8], samples: usize, report: &mut Report) -> Result<()> {
    // As many threads as the executable gives its control runtime.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(compare(&runtime, guest, samples, report))
}

async fn compare(
    runtime: &Runtime,
    guest: &[u8],
    samples: usize,
    report: &mut Report,
) -> Result<()> {
    let platform = Platform::start(runtime, guest).await?;
    statements(&platform, samples / 10).await?;
    let (claims, beats) = statements(&platform, samples).await?;
    spin(&platform).await?;
    let (slow_claims, slow_beats) = statements(&platform, samples).await?;
    for (what, alone, beside) in [("claim", claims, slow_claims), ("heartbeat", beats, slow_beats)]
    {
        let alone = percentile(&alone, 0.99);
        let beside = percentile(&beside, 0.99);
        report.add(format!("{what} alone, p99"), alone, "ms", None);
        let name = format!("{what} beside {RUNAWAYS} runaways, later by, p99");
        report.add(name, (beside - alone).max(0.0), "ms", Some(50.0));
    }
    platform.stop().await
}

/// How long a claim and a heartbeat take, in milliseconds.
async fn statements(platform: &Platform, samples: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let worker = WorkerId::from_uuid(Uuid::now_v7());
    // A queue that does not exist: the statement looks for lanes and finds none.
    let request = ClaimRequest {
        worker,
        queues: vec![QueueName::new("nobody")?],
        max: 1,
        default_deadline: DEADLINE,
        deadline_cap: DEADLINE,
    };
    let nothing = LeaseKey { job: JobId::from_uuid(Uuid::now_v7()), run_lease: 1 };
    let mut cursor = ClaimCursor::default();
    let mut line = platform.store.heartbeats();
    let (mut claims, mut beats) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        let start = Instant::now();
        platform.store.claim(&request, &mut cursor).await?;
        claims.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        line.beat(worker, &[nothing], DEADLINE).await?;
        beats.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((claims, beats))
}

/// Has every slot of the worker spin.
async fn spin(platform: &Platform) -> Result<()> {
    let job = || -> Result<NewJob> {
        Ok(NewJob {
            id: None,
            module: "bench/spin".parse()?,
            queue: None,
            priority: Priority::default(),
            run_at: None,
            payload: b"null".to_vec(),
            options: JobOptions {
                limits: LimitWish { deadline: Some(DEADLINE), ..LimitWish::default() },
                ..JobOptions::default()
            },
        })
    };
    let jobs = (0..RUNAWAYS).map(|_| job()).collect::<Result<Vec<_>>>()?;
    platform.submitter.submit(TenantId::DEFAULT, jobs).await?;
    let start = Instant::now();
    while start.elapsed() < BOUND {
        if platform.worker.status().occupied == RUNAWAYS {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("the runaways do not run");
}
