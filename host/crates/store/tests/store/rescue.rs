//! Leases that nobody ends, and jobs whose time comes.

use crate::support::{House, TENANT, decide, request, worker};
use chrono::TimeDelta;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::{HARD_DEADLINE, HEARTBEAT_STALE};
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_core::state::JobState;
use cofferdam_store::{ClaimCursor, DlqFilter, LogChunk, Page, RescueKind};
use std::time::Duration;

const STALE: RescueKind = RescueKind::Heartbeat { staleness: Duration::from_secs(90) };
const LATE: RescueKind = RescueKind::Deadline { grace: Duration::ZERO };
const SILENCE: &str = "UPDATE leases SET heartbeat_at = now() - INTERVAL '91 seconds'";
const OVERDUE: &str = "UPDATE leases SET claimed_at = now() - INTERVAL '2 hours', \
                       deadline_at = now() - INTERVAL '1 second'";

#[tokio::test]
async fn a_silent_workers_job_is_retried_with_a_crash_counted_until_it_is_poison() {
    let house = House::new().await;
    let id = house.enqueue(house.job()).await;

    for crashes in 1..=3 {
        // Given that the job runs on a worker that is heard of,
        let claimed = house.claim_again(worker(), id).await;
        assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 0);

        // when the worker goes silent,
        house.execute(SILENCE).await;
        assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);

        // then the job is claimable again, and dead after the third time.
        let detail = house.detail(id).await;
        assert_eq!((detail.counters.attempts, detail.counters.crashes), (0, crashes));
        let error = detail.errors.last().unwrap();
        assert_eq!(error.message, HEARTBEAT_STALE);
        assert_eq!((error.class, error.run_lease), (FailureClass::Lost, claimed.key.run_lease));
        let expected = if crashes < 3 { JobState::Available } else { JobState::Dead };
        assert_eq!(detail.state, expected);
        house.assert_one_place().await;
    }
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    assert_eq!(letter.summary.reason.as_deref(), Some("crashed"));
    assert_eq!(letter.errors.len(), 3);
}

#[tokio::test]
async fn an_attempt_past_its_deadline_counts_as_an_attempt() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    assert_eq!(house.rescue(LATE, 10, FailureClass::Deadline).await, 0);

    house.execute(OVERDUE).await;
    assert_eq!(house.rescue(LATE, 10, FailureClass::Deadline).await, 1);

    let detail = house.detail(key.job).await;
    assert_eq!(detail.state, JobState::Retryable);
    assert_eq!((detail.counters.attempts, detail.counters.crashes), (1, 0));
    assert_eq!(detail.errors[0].message, HARD_DEADLINE);
    house.assert_one_place().await;
}

#[tokio::test]
async fn an_attempt_that_was_killed_on_time_may_still_say_so() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    house.execute(OVERDUE).await;

    let grace = |seconds| RescueKind::Deadline { grace: Duration::from_secs(seconds) };
    assert_eq!(house.rescue(grace(60), 10, FailureClass::Deadline).await, 0);
    assert_eq!(house.state(key.job).await, JobState::Running);
    house.execute("UPDATE leases SET deadline_at = deadline_at - INTERVAL '1 minute'").await;
    assert_eq!(house.rescue(grace(60), 10, FailureClass::Deadline).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_both_sweeps_want_ends_once() {
    for _ in 0..10 {
        let house = House::new().await;
        house.enqueue_all(&house.jobs(20)).await;
        house.claim(worker(), 20).await;
        house.execute(SILENCE).await;
        house.execute(OVERDUE).await;

        let (one, two, three) = tokio::join!(
            house.rescue(STALE, 15, FailureClass::Lost),
            house.rescue(LATE, 15, FailureClass::Deadline),
            house.rescue(STALE, 15, FailureClass::Lost),
        );
        let first = one + two + three;
        let rest = house.rescue(STALE, 50, FailureClass::Lost).await;

        assert_eq!(first + rest, 20);
        assert_eq!(house.db.count("attempts").await, 20);
        house.assert_one_place().await;
    }
}

#[tokio::test]
async fn a_sweep_takes_no_more_than_its_batch() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(7)).await;
    house.claim(worker(), 7).await;
    house.execute(SILENCE).await;

    let mut batches = Vec::new();
    for _ in 0..4 {
        batches.push(house.rescue(STALE, 3, FailureClass::Lost).await);
    }
    assert_eq!(batches, [3, 3, 1, 0]);
}

/// S36: a backlog is drained in batches until one is short.
#[tokio::test]
async fn thirteen_hundred_stale_leases_are_drained_in_three_batches() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(1300)).await;
    house.claim(worker(), 1300).await;
    house.execute(SILENCE).await;

    let (mut batches, mut after, mut recovery) = (Vec::new(), None, Vec::new());
    loop {
        let lost = decide(FailureClass::Lost);
        let batch = house.store.rescue(STALE, after, 500, &lost).await.unwrap();
        batches.push((batch.seen, batch.ended));
        after = batch.last;
        recovery.extend(batch.recovery);
        if batch.seen < 500 {
            break;
        }
    }

    assert_eq!(batches, [(500, 500), (500, 500), (300, 300)]);
    assert_eq!(recovery.len(), 1300);
    assert!(recovery.iter().all(|silence| *silence >= Duration::from_secs(91)));
    assert_eq!((house.db.count("ready").await, house.db.count("leases").await), (1300, 0));
    house.assert_one_place().await;
}

/// S43: two leaders that run every sweep at once rescue each lease once.
#[tokio::test(flavor = "multi_thread")]
async fn two_leaders_at_once_do_no_harm() {
    // Given a thousand leases that every sweep wants,
    let house = House::new().await;
    let me = house.register().await;
    house.enqueue_all(&house.jobs(1000)).await;
    house.claim(me, 1000).await;
    house.execute(SILENCE).await;
    house.execute(OVERDUE).await;
    house.store.evict_worker(me).await.unwrap();
    house
        .execute(
            "UPDATE workers SET gone_since = now() - INTERVAL '1 minute', gone_seen_at = now()",
        )
        .await;

    // when two leaders run all of them,
    let grace = Duration::from_secs(5);
    let kinds = [
        (STALE, FailureClass::Lost),
        (LATE, FailureClass::Deadline),
        (RescueKind::Crash { grace }, FailureClass::Lost),
        (RescueKind::Orphan { grace }, FailureClass::Lost),
        (RescueKind::Evicted { worker: me }, FailureClass::Lost),
    ];
    let mut sweeps = tokio::task::JoinSet::new();
    for (kind, class) in kinds.into_iter().chain(kinds) {
        let store = house.store.clone();
        sweeps.spawn(async move {
            let mut ended = 0;
            loop {
                let batch = store.rescue(kind, None, 50, &decide(class)).await.unwrap();
                ended += batch.ended;
                if batch.seen == 0 {
                    return ended;
                }
            }
        });
    }
    let ended: usize = sweeps.join_all().await.into_iter().sum();

    // then each lease ended once, with one entry in the history and one retry.
    assert_eq!(ended, 1000);
    assert_eq!(house.db.count("attempts").await, 1000);
    assert_eq!(house.db.count("ready").await + house.db.count("scheduled").await, 1000);
    house.assert_one_place().await;
}

/// S26: where both sweeps want a lease, the second changes nothing.
#[tokio::test]
async fn a_lease_that_is_silent_and_overdue_is_rescued_once() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    house.execute(SILENCE).await;
    house.execute(OVERDUE).await;

    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.rescue(LATE, 10, FailureClass::Deadline).await, 0);
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 0);

    let detail = house.detail(key.job).await;
    assert_eq!((detail.counters.attempts, detail.counters.crashes), (0, 1));
    assert_eq!(detail.errors.len(), 1);
    assert_eq!(detail.errors[0].code, "heartbeat_stale");
}

/// S14: 89 seconds of silence are not stale, 91 are.
#[tokio::test]
async fn a_heartbeat_is_stale_after_ninety_seconds_and_not_before() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    house.execute("UPDATE leases SET heartbeat_at = now() - INTERVAL '89 seconds'").await;
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 0);
    house.execute("UPDATE leases SET heartbeat_at = now() - INTERVAL '91 seconds'").await;
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.state(key.job).await, JobState::Available);
}

/// S3, S24: a job whose worker dies before its first heartbeat is found like any other.
#[tokio::test]
async fn a_claim_sets_heartbeat_and_deadline_at_once() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    let (same, deadline): (bool, i64) = sqlx::query_as(
        "SELECT heartbeat_at = claimed_at, \
                (EXTRACT(EPOCH FROM deadline_at - claimed_at) * 1000)::bigint FROM leases",
    )
    .fetch_one(&mut house.db.connection().await)
    .await
    .unwrap();
    assert!(same);
    assert_eq!(deadline, 300_000);

    house
        .execute(
            "UPDATE leases SET claimed_at = claimed_at - INTERVAL '91 seconds', \
                   heartbeat_at = heartbeat_at - INTERVAL '91 seconds'",
        )
        .await;
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.state(key.job).await, JobState::Available);
}

/// S8: a sweep that fails does not keep the other from its work.
#[tokio::test]
async fn a_sweep_that_fails_leaves_the_other_alone() {
    // Given a lease that is silent, one that is overdue, and a column that only one sweep can read,
    let house = House::new().await;
    let (silent, late) = (house.running(worker()).await, house.running(worker()).await);
    house.execute(&format!("{OVERDUE} WHERE job_id = '{}'", late.job)).await;
    house.execute(&format!("{SILENCE} WHERE job_id = '{}'", silent.job)).await;
    house.execute("ALTER TABLE workers RENAME COLUMN gone_seen_at TO elsewhere").await;
    let crash = RescueKind::Crash { grace: Duration::ZERO };
    let lost = decide(FailureClass::Lost);
    house.store.rescue(crash, None, 10, &lost).await.unwrap_err();

    // when both are swept, then both come back.
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.rescue(LATE, 10, FailureClass::Deadline).await, 1);
    assert_eq!(house.state(silent.job).await, JobState::Available);
    assert_eq!(house.state(late.job).await, JobState::Retryable);
}

/// A row that nobody can read is parked where people look, with what is wrong with it.
#[tokio::test]
async fn a_rescued_job_that_cannot_be_read_is_parked_with_its_reason() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    let good = house.running(worker()).await;
    house
        .execute(&format!(
            r#"UPDATE jobs SET options = '{{"max_attempts": "many"}}' WHERE id = '{}'"#,
            key.job
        ))
        .await;
    house.execute(SILENCE).await;

    // The sweep takes both back, and the next claim parks the one.
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 2);
    let claimed = house.claim(worker(), 10).await;
    assert_eq!(claimed.iter().map(|job| job.key.job).collect::<Vec<_>>(), [good.job]);
    let [letter] = house
        .store
        .dlq_list(TENANT, &DlqFilter::default(), Page { before: None, limit: 10 })
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!((letter.id, letter.class), (key.job, FailureClass::NotRunnable));
    assert_eq!(letter.code, "unreadable");
    assert!(letter.message.contains("job's options"), "{}", letter.message);
    house.assert_one_place().await;
}

/// A promotion that meets a job that is claimable already resolves it, and goes on.
#[tokio::test]
async fn a_promotion_goes_past_a_job_that_is_claimable_already() {
    let house = House::new().await;
    let mut jobs = house.jobs(3);
    for job in &mut jobs {
        job.run_at = Some(house.store.now().await.unwrap() + TimeDelta::hours(1));
    }
    house.enqueue_all(&jobs).await;
    house
        .execute(
            "UPDATE scheduled SET due_at = now() - INTERVAL '1 second'; \
             INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at) \
             SELECT job_id, tenant_id, queue_id, priority, due_at FROM scheduled LIMIT 1",
        )
        .await;

    assert_eq!(house.store.promote(10).await.unwrap(), 3);
    assert_eq!(house.claim(worker(), 10).await.len(), 3);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_sweep_rescues_what_it_cannot_read_and_goes_past_what_is_refused() {
    // Given three lost leases, one of which is of another version's options, and one cannot end,
    let house = House::new().await;
    house.enqueue_all(&house.jobs(3)).await;
    let claimed = house.claim(worker(), 3).await;
    house.execute(SILENCE).await;
    let (strange, stuck) = (claimed[0].key.job, claimed[1].key.job);
    house
        .execute(&format!(
            r#"UPDATE jobs SET options = '{{"from": "the future"}}' WHERE id = '{strange}';
               ALTER TABLE attempts ADD CONSTRAINT spite CHECK (job_id <> '{stuck}')"#
        ))
        .await;

    // when they are swept, then the others are rescued, whatever the order.
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 2);
    assert_eq!(house.state(strange).await, JobState::Available);
    assert_eq!(house.state(stuck).await, JobState::Running);
    house.assert_one_place().await;
}

#[tokio::test]
async fn leases_that_cannot_end_do_not_hide_those_behind_them() {
    // Given five lost leases, of which the first three cannot end,
    let house = House::new().await;
    let mut ids: Vec<_> =
        house.enqueue_all(&house.jobs(5)).await.iter().map(|job| job.id).collect();
    ids.sort();
    house.claim(worker(), 5).await;
    house.execute(SILENCE).await;
    house
        .execute(&format!(
            "ALTER TABLE attempts ADD CONSTRAINT spite CHECK (job_id > '{}')",
            ids[2]
        ))
        .await;

    // when they are swept two at a time,
    let (mut batches, mut after) = (Vec::new(), None);
    loop {
        let lost = decide(FailureClass::Lost);
        let batch = house.store.rescue(STALE, after, 2, &lost).await.unwrap();
        batches.push((batch.seen, batch.ended));
        if batch.seen < 2 {
            break;
        }
        after = batch.last;
    }

    // then each is looked at once, and the others end.
    assert_eq!(batches, [(2, 0), (2, 1), (1, 1)]);
    assert_eq!(house.state(ids[2]).await, JobState::Running);
    assert_eq!(house.state(ids[4]).await, JobState::Available);
    house.assert_one_place().await;
}

#[tokio::test]
async fn no_lease_is_held_for_ever_by_what_its_guest_wrote() {
    // Given a job that is lost for the last time, and whose log the database refuses to copy,
    let house = House::new().await;
    let key = house.running(worker()).await;
    let line = LogLine {
        at_ms: 1,
        level: LogLevel::Info,
        message: "poison".to_owned(),
        fields: Vec::new(),
    };
    let chunk = LogChunk { key, attempt: 1, seq: 0, lines: vec![line] };
    house.store.append_logs(&[chunk]).await.unwrap();
    house.execute("UPDATE leases SET crashes = 2").await;
    house.execute("ALTER TABLE dlq ADD CONSTRAINT spite CHECK (log_tail = '[]')").await;
    house.execute(SILENCE).await;

    // when it is swept, then it is dead all the same.
    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.state(key.job).await, JobState::Dead);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_cancelled_job_of_a_dead_worker_is_never_run_again() {
    let house = House::new().await;
    let key = house.running(worker()).await;
    house.store.cancel(TENANT, key.job).await.unwrap();
    house.execute(SILENCE).await;

    assert_eq!(house.rescue(STALE, 10, FailureClass::Lost).await, 1);

    let detail = house.detail(key.job).await;
    assert_eq!(detail.state, JobState::Cancelled);
    assert_eq!(detail.cause.as_deref(), Some("user"));
    house.assert_one_place().await;
}

#[tokio::test]
async fn jobs_are_promoted_when_their_time_has_come_and_not_before() {
    // Given a job that failed, one ahead, and one whose time has come,
    let house = House::new().await;
    let now = house.store.now().await.unwrap();
    let mut jobs = house.jobs(3);
    for (job, minutes) in jobs.iter_mut().zip([10, 20, 30]) {
        job.run_at = Some(now + TimeDelta::minutes(minutes));
    }
    house.enqueue_all(&jobs).await;
    assert_eq!(house.store.promote(10).await.unwrap(), 0);
    assert!(house.store.next_due().await.unwrap().unwrap() > Duration::from_secs(500));

    // when a quarter of an hour passes,
    house.execute("UPDATE scheduled SET due_at = due_at - INTERVAL '25 minutes'").await;

    // then two of them are claimable, in the order in which they were due.
    assert_eq!(house.store.next_due().await.unwrap(), Some(Duration::ZERO));
    assert_eq!(house.store.promote(1).await.unwrap(), 1);
    assert_eq!(house.store.promote(10).await.unwrap(), 1);
    assert_eq!(house.state(jobs[2].id).await, JobState::Scheduled);
    let claimed =
        house.store.claim(&request(worker(), 5), &mut ClaimCursor::default()).await.unwrap();
    let order: Vec<_> = claimed.iter().map(|job| job.key.job).collect();
    assert_eq!(order, [jobs[0].id, jobs[1].id]);
    house.assert_one_place().await;
}
