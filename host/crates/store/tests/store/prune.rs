//! What leaves by its age, and what does not.

use crate::support::{
    House, TENANT, USAGE, at_once, completed, execute, failed, module, version, worker,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::JobId;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_core::module::Digest;
use cofferdam_core::state::JobState;
use cofferdam_store::{LogChunk, Pruned, Retention, Revive};
use sqlx::Connection as _;
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);
const RETENTION: Retention = Retention {
    history: Duration::from_hours(7 * 24),
    logs: Duration::from_hours(3 * 24),
    dead_letters: Duration::from_hours(30 * 24),
};
const NOTHING: Pruned = Pruned { rows: 0, partitions: 0, more: false };

async fn prune(house: &House, limit: usize) -> Pruned {
    house.store.prune(&RETENTION, limit).await.unwrap()
}

/// Takes steps until there is nothing left to take.
async fn prune_all(house: &House, limit: usize) -> Vec<Pruned> {
    let mut steps = Vec::new();
    loop {
        let step = prune(house, limit).await;
        steps.push(step);
        if !step.more {
            return steps;
        }
    }
}

/// Makes the partitions of a day so many days ago, as the sweep of that day would have.
async fn partitions(house: &House, days: i32) {
    let make = "DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - %; t text; BEGIN \
                FOREACH t IN ARRAY ARRAY['ended', 'attempts', 'job_logs'] LOOP \
                EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', \
                    t || to_char(day, '_YYYYMMDD'), t, day || ' 00:00:00+00', \
                    day + 1 || ' 00:00:00+00'); END LOOP; END $$";
    house.execute(&make.replacen('%', &days.to_string(), 1)).await;
}

/// Lets a job's history be of so many days ago.
async fn age(house: &House, id: JobId, days: u32) {
    house
        .execute(&format!(
            "UPDATE ended SET finished_at = finished_at - INTERVAL '{days} days' WHERE job_id = '{id}'; \
             UPDATE attempts SET ended_at = ended_at - INTERVAL '{days} days' WHERE job_id = '{id}'; \
             UPDATE job_logs SET written_at = written_at - INTERVAL '{days} days' \
             WHERE job_id = '{id}'; \
             UPDATE dlq SET finished_at = finished_at - INTERVAL '{days} days' WHERE job_id = '{id}'"
        ))
        .await;
}

/// A job with a log that failed once and then completed.
async fn done(house: &House) -> JobId {
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    house.store.append_logs(&[chunk(&claimed.key)]).await.unwrap();
    house.finish(me, claimed.key, failed(FailureClass::Error, &claimed, &at_once())).await;
    let claimed = house.claim_again(me, id).await;
    assert_eq!(house.finish(me, claimed.key, completed()).await, Some(JobState::Completed));
    id
}

fn chunk(key: &cofferdam_core::ids::LeaseKey) -> LogChunk {
    let line = LogLine {
        at_ms: 1,
        level: LogLevel::Info,
        message: "what it had to say".to_owned(),
        fields: Vec::new(),
    };
    LogChunk { key: *key, attempt: 1, seq: 0, lines: vec![line] }
}

async fn gone(house: &House, id: JobId) -> bool {
    house.store.job(TENANT, id).await.unwrap().is_none()
}

#[tokio::test]
async fn old_history_leaves_with_its_jobs_and_its_partitions() {
    // Given jobs of today, of six days ago, and five of eight days ago,
    let house = House::new().await;
    for days in [6, 8] {
        partitions(&house, days).await;
    }
    let (today, recent) = (done(&house).await, done(&house).await);
    age(&house, recent, 6).await;
    let mut old = Vec::new();
    for _ in 0..5 {
        let id = done(&house).await;
        age(&house, id, 8).await;
        old.push(id);
    }
    let today_partitions = partition_count(&house).await;

    // when they are pruned two at a time,
    let steps = prune_all(&house, 2).await;

    // then the old ones leave in three steps, and their partitions with them: ended and attempts
    // of eight days ago, logs of eight and of six days ago;
    assert_eq!(steps.iter().map(|step| step.rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(steps.iter().map(|step| step.partitions).sum::<usize>(), 4);
    assert_eq!(partition_count(&house).await, today_partitions - 4);
    for id in old {
        assert!(gone(&house, id).await);
    }

    // and the others stay, but for the logs of six days ago.
    assert_eq!(house.state(today).await, JobState::Completed);
    assert_eq!(house.detail(recent).await.errors.len(), 1);
    assert_eq!(house.store.logs(TENANT, today, None, 10).await.unwrap().len(), 1);
    assert_eq!(house.store.logs(TENANT, recent, None, 10).await.unwrap().len(), 0);
    assert_eq!(prune(&house, 2).await, NOTHING);
    house.assert_one_place().await;
}

async fn partition_count(house: &House) -> i64 {
    house.db.count("pg_inherits JOIN pg_class ON oid = inhparent WHERE relkind = 'p'").await
}

#[tokio::test]
async fn old_rows_of_days_without_a_partition_leave_too() {
    let house = House::new().await;
    let (old, new) = (done(&house).await, done(&house).await);
    age(&house, old, 9).await;
    age(&house, new, 2).await;
    assert_eq!(house.db.count("ended_default").await, 2);

    // An end, an attempt and its success, and a log chunk; those of two days ago stay.
    let steps = prune_all(&house, 100).await;
    assert_eq!(steps, [Pruned { rows: 4, ..NOTHING }]);
    assert!(gone(&house, old).await);
    let left = ["ended_default", "attempts_default", "job_logs_default"];
    for (table, rows) in left.into_iter().zip([1, 2, 1]) {
        assert_eq!(house.db.count(table).await, rows, "{table}");
    }
    assert_eq!(house.state(new).await, JobState::Completed);
}

/// S75: a dead letter outlives the rest of the history, and its module.
#[tokio::test]
async fn a_dead_letter_is_whole_after_retention_and_after_its_module_is_gone() {
    // Given a job that logged, failed twice, and is a dead letter of eight days ago,
    let house = House::new().await;
    partitions(&house, 8).await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let first = house.claim_again(me, id).await;
    house.finish(me, first.key, failed(FailureClass::Error, &first, &at_once())).await;
    let second = house.claim_again(me, id).await;
    house.store.append_logs(&[chunk(&second.key)]).await.unwrap();
    house.finish(me, second.key, failed(FailureClass::Permanent, &second, &at_once())).await;
    age(&house, id, 8).await;

    // when the history is pruned, and its module deleted,
    let pruned = prune(&house, 100).await;
    assert_eq!((pruned.rows, pruned.partitions), (0, 3));
    house.store.delete_module(TENANT, &module("images")).await.unwrap();

    // then it has everything: input, errors, log, digest, options, usage.
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    let payload = house.store.job_payload(TENANT, id).await.unwrap();
    assert_eq!(payload.as_deref(), Some(&b"input"[..]));
    let attempts: Vec<_> = letter.errors.iter().map(|error| (error.attempt, error.class)).collect();
    assert_eq!(attempts, [(1, FailureClass::Error), (2, FailureClass::Permanent)]);
    assert_eq!(letter.log[0].line.message, "what it had to say");
    assert_eq!(letter.version.unwrap().digest, Digest::of(b"the first component"));
    assert!(letter.kind_settings.is_some());
    assert_eq!((letter.usage, letter.worker), (USAGE, me));
    assert_eq!(letter.summary.module, module("images"));
    assert_eq!(house.detail(id).await.errors, letter.errors);

    // Its own retention ends, too.
    age(&house, id, 23).await;
    assert_eq!(prune(&house, 100).await, Pruned { rows: 1, ..NOTHING });
    assert!(house.store.dlq_show(TENANT, id).await.unwrap().is_none() && gone(&house, id).await);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_that_is_alive_is_never_pruned_however_old() {
    // Given jobs of a year ago in every state that has not ended,
    let house = House::new().await;
    let me = worker();
    let mut alive = vec![house.running(me).await.job];
    let retryable = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, retryable).await;
    let policy = cofferdam_core::fail::RetryPolicy::default();
    house.finish(me, claimed.key, failed(FailureClass::Error, &claimed, &policy)).await;
    alive.push(retryable);
    // one that was cancelled and brought back, with an end that should not be there any more,
    let revived = house.enqueue(house.job()).await;
    house.store.cancel(TENANT, revived).await.unwrap();
    age(&house, revived, 365).await;
    house.execute("CREATE TABLE stray AS SELECT * FROM ended").await;
    assert_eq!(house.store.revive(TENANT, revived, None).await.unwrap(), Revive::Revived);
    house.execute("INSERT INTO ended SELECT * FROM stray; DROP TABLE stray").await;
    alive.push(revived);
    house.execute("UPDATE jobs SET created_at = created_at - INTERVAL '1 year'").await;
    for id in &alive {
        age(&house, *id, 365).await;
    }

    // when everything is pruned, then only what is over is gone.
    prune_all(&house, 100).await;
    let mut states = Vec::new();
    for id in alive {
        states.push(house.state(id).await);
        assert!(house.store.job_payload(TENANT, id).await.unwrap().is_some());
    }
    assert_eq!(states, [JobState::Running, JobState::Retryable, JobState::Available]);
    house.assert_one_place().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_pruning_and_reviving_race_the_job_is_there_or_gone_as_a_whole() {
    let house = House::new().await;
    for _ in 0..30 {
        let id = house.enqueue(house.job()).await;
        house.store.cancel(TENANT, id).await.unwrap();
        age(&house, id, 365).await;
        let (revived, _) =
            tokio::join!(house.store.revive(TENANT, id, None), prune_all(&house, 10));
        match revived.unwrap() {
            Revive::Revived => assert_eq!(house.state(id).await, JobState::Available),
            Revive::NotFound => assert!(gone(&house, id).await),
            other => panic!("{other:?}"),
        }
        house.assert_one_place().await;
        house.store.cancel(TENANT, id).await.unwrap();
    }
}

/// S92: nobody waits behind a partition that cannot be dropped now.
#[tokio::test]
async fn a_partition_that_is_in_use_is_dropped_another_time() {
    // Given an old partition, and somebody who reads the history for long,
    let house = House::new().await;
    partitions(&house, 8).await;
    let mut reader = house.db.connection().await;
    let mut open = reader.begin().await.unwrap();
    execute(&mut open, "SELECT count(*) FROM ended; SELECT count(*) FROM attempts").await;

    // when history is pruned, then the others go, and the jobs that end meanwhile do so;
    assert_eq!(prune(&house, 10).await, Pruned { partitions: 1, ..NOTHING });
    done(&house).await;

    // and the rest goes when the reader has gone.
    open.rollback().await.unwrap();
    assert_eq!(prune(&house, 10).await, Pruned { partitions: 2, ..NOTHING });
}

#[tokio::test]
async fn pruning_reads_no_partition_that_is_young() {
    let house = House::new().await;
    for days in [6, 7, 8, 9] {
        partitions(&house, days).await;
    }
    let sql = include_str!("../../queries/prune/ended.sql");
    let plan: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "EXPLAIN (ANALYZE, COSTS off, TIMING off) {sql}"
    )))
    .bind(i64::try_from((DAY * 7).as_millis()).unwrap())
    .bind(100_i64)
    .fetch_all(&mut house.db.connection().await)
    .await
    .unwrap();
    let now = house.store.now().await.unwrap();
    let day = |days: i64| {
        let day = now - chrono::TimeDelta::days(days);
        format!("ended_{}", day.format("%Y%m%d"))
    };
    let condemned: Vec<_> = plan
        .iter()
        .skip_while(|line| !line.contains("CTE condemned"))
        .take_while(|line| !line.contains("CTE gone"))
        .collect();
    // What is pruned before the statement runs is not in its plan.
    let reads = |name: &str| condemned.iter().any(|line| line.contains(name));
    assert!(reads(&day(9)) && reads(&day(8)) && reads("ended_default"), "{condemned:#?}");
    for days in [7, 6, 0] {
        assert!(!reads(&day(days)), "{condemned:#?}");
    }
}

#[tokio::test]
async fn a_dead_letter_whose_version_is_gone_comes_back_on_the_current_one() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    house.finish(me, claimed.key, failed(FailureClass::Permanent, &claimed, &at_once())).await;
    let second = house.store.publish(&version("images", "mended")).await.unwrap();
    let first = crate::support::version_name("1");
    house.store.delete_version(TENANT, &module("images"), &first).await.unwrap();

    assert_eq!(house.store.revive(TENANT, id, None).await.unwrap(), Revive::Revived);
    assert_eq!(house.claim_again(me, id).await.version, Some(second.version));
}
