//! The platform at rest: after the last fault, when everything must come to an end.

use crate::client::Client;
use crate::clock;
use crate::fleet::{Fleet, Seat};
use crate::postgres::Postgres;
use crate::role::SLOTS;
use crate::rows::{self, JobRow, Rows};
use crate::traffic::User;
use crate::work::Maker;
use anyhow::Result;
use cofferdam_testkit::proxy::Mode;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long everything may take to come to an end. Long, because half of what is left are suspects:
/// each compiles its component in a process of its own, which costs a shared machine seconds.
const BOUND: Duration = Duration::from_mins(5);

/// How long each worker may take until it runs something: it has to compile it first.
const ALIVE: Duration = Duration::from_mins(1);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// How many jobs the server is asked about.
const ASKED: usize = 300;

/// Waits until every worker runs jobs, which it is given for that. The names of those that do not.
pub async fn warm_up(
    fleet: &Fleet,
    postgres: &Postgres,
    user: &User,
    maker: &mut Maker,
) -> Result<Vec<String>> {
    let mut session = postgres.connect().await?;
    fleet.ready().await;
    let slots = fleet.workers().len() * SLOTS;
    let (since, end) = (clock::now(), Instant::now() + ALIVE);
    loop {
        let busy = user.journal.busy_since(since);
        let idle = |seat: &&Seat| seat.process().is_none_or(|it| !busy.contains(&it.pid));
        let idle: Vec<_> = fleet.workers().iter().filter(idle).map(Seat::name).collect();
        if idle.is_empty() || Instant::now() >= end {
            return Ok(idle);
        }
        // Enough for every slot that there is.
        if rows::unfinished(&mut session).await? <= i64::try_from(slots / 2).unwrap_or(0) {
            let wave = (0..slots).map(|_| maker.good(clock::now(), 300));
            user.submit(wave.collect()).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Mends everything, sees to it that every worker works, and waits until every job has ended. What
/// does not come to rest in time is in the answer.
pub async fn settle(
    fleet: &Fleet,
    postgres: &Postgres,
    user: &User,
    mut maker: Maker,
) -> Result<Vec<String>> {
    for seat in fleet.workers() {
        seat.proxy.set(Mode::Forward);
    }
    let idle = warm_up(fleet, postgres, user, &mut maker).await?;
    let mut complaints: Vec<_> =
        idle.into_iter().map(|name| format!("{name} takes no jobs any more")).collect();
    let mut session = postgres.connect().await?;
    let end = Instant::now() + BOUND;
    loop {
        let left = rows::unfinished(&mut session).await?;
        if left == 0 {
            return Ok(complaints);
        }
        if Instant::now() >= end {
            complaints.push(format!("{left} jobs do not come to an end"));
            return Ok(complaints);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Compares what the server says with what the database says, for some of the jobs. What differs
/// is in the answer.
pub async fn compare(client: &Client, rows: &Rows) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let step = (rows.jobs.len() / ASKED).max(1);
    for row in rows.jobs.values().step_by(step) {
        let path = format!("/jobs/{}", row.id);
        match client.get(&path).await? {
            Some(answer) => differences.extend(difference(row, &answer)),
            None => differences.push(format!("the server knows no job {}", row.id)),
        }
    }
    if let Some(cluster) = client.get("/cluster").await?
        && cluster.get("orphaned").and_then(Value::as_u64) != Some(0)
    {
        differences.push(format!("the server counts orphans: {cluster}"));
    }
    Ok(differences)
}

fn difference(row: &JobRow, answer: &Value) -> Option<String> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let number = |key: &str| answer.get(key).and_then(Value::as_i64);
    // The attempt that succeeded is one that the server counts, and the database does not.
    let success = i64::from(row.state.as_deref() == Some("completed"));
    let same = text("state") == row.state.as_deref()
        && text("reason") == row.reason.as_deref()
        && number("crashes") == row.crashes.map(i64::from)
        && number("attempts") == row.attempts.map(|attempts| i64::from(attempts) + success);
    (!same).then(|| format!("the server says {answer}, and the database says {row:?}"))
}
