//! The dead-letter queue.

use crate::support::{House, TENANT, USAGE, at_once, failed, kind, worker};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::RetryPolicy;
use cofferdam_core::ids::{JobId, LeaseKey};
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_core::module::Digest;
use cofferdam_core::state::JobState;
use cofferdam_store::{DlqFilter, FinishEnd, LogChunk, Page};
use std::time::Duration;

async fn bury(house: &House) -> JobId {
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    house.finish(me, claimed.key, failed(FailureClass::Permanent, &claimed, &at_once())).await;
    id
}

fn chunk(key: LeaseKey, seq: u32, lines: usize) -> LogChunk {
    let line = |number| LogLine {
        at_ms: number,
        level: LogLevel::Info,
        message: format!("{} line {seq}/{number} {}", key.run_lease, "x".repeat(1000)),
        fields: Vec::new(),
    };
    LogChunk { key, attempt: 1, seq, lines: (0..lines as u64).map(line).collect() }
}

#[tokio::test]
async fn a_dead_letter_keeps_all_that_explains_it() {
    // Given a job that logged a lot, failed twice, and logged again,
    let house = House::new().await;
    let me = worker();
    let mut job = house.job();
    job.kind = kind("blur");
    job.options.max_attempts = Some(2);
    let id = house.enqueue(job.clone()).await;
    let policy = RetryPolicy { max_attempts: 2, ..at_once() };
    let mut last = None;
    for _ in 0..2 {
        let claimed = house.claim_again(me, id).await;
        let chunks = [chunk(claimed.key, 0, 30), chunk(claimed.key, 1, 30)];
        house.store.append_logs(&chunks).await.unwrap();
        house.finish(me, claimed.key, failed(FailureClass::Trap, &claimed, &policy)).await;
        last = Some(claimed.key);
    }

    // when everything that leaves earlier has left,
    house.execute("TRUNCATE attempts, job_logs").await;

    // then the letter still has it.
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    assert_eq!(letter.summary.state, JobState::Dead);
    assert_eq!(letter.summary.reason.as_deref(), Some("attempts"));
    assert_eq!(letter.summary.class, FailureClass::Trap);
    assert_eq!(letter.summary.counters.attempts, 2);
    assert_eq!(letter.options, job.options);
    assert_eq!(letter.kind_settings.unwrap().limits.deadline, Some(Duration::from_secs(20)));
    assert_eq!(letter.version.unwrap().digest, Digest::of(b"the first component"));
    assert_eq!((letter.usage, letter.worker), (USAGE, me));
    assert_eq!(letter.errors.iter().map(|error| error.run_lease).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(house.detail(id).await.errors, letter.errors);
    let payload = house.store.job_payload(TENANT, id).await.unwrap();
    assert_eq!(payload.as_deref(), Some(&b"input"[..]));

    // Of the log it has the end, in order, and no more than 64 KiB.
    let bytes: usize = letter.log.iter().map(|line| line.line.message.len()).sum();
    assert!(bytes <= 64 * 1024 && bytes > 56 * 1024, "{bytes}");
    assert!(letter.log.is_sorted_by_key(|line| line.position));
    let end = letter.log.last().unwrap();
    assert_eq!((end.position.run_lease, end.attempt), (last.unwrap().run_lease, 1));
    assert!(end.line.message.starts_with("2 line 1/29 "), "{}", end.line.message);
}

#[tokio::test]
async fn a_flood_of_empty_lines_does_not_swell_a_letter() {
    // Given a job that wrote an end and then a flood of nothing, in chunks small and large,
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    let flood = |seq, lines| {
        let mut chunk = chunk(claimed.key, seq, lines);
        chunk.lines.iter_mut().for_each(|line| line.message.clear());
        chunk
    };
    let chunks = [chunk(claimed.key, 0, 1), flood(1, 50_000), flood(2, 100), flood(3, 1)];
    house.store.append_logs(&chunks).await.unwrap();

    // when it fails for good,
    house.finish(me, claimed.key, failed(FailureClass::Permanent, &claimed, &at_once())).await;

    // then the letter has the last lines, as many as a letter holds and no more.
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    assert_eq!(letter.log.len(), 1000);
    assert!(letter.log.is_sorted_by_key(|line| line.position));
    let (first, last) = (letter.log[0].position, letter.log[999].position);
    assert_eq!((first.seq, first.index), (1, 50_000 - 899 + 1));
    assert_eq!((last.seq, last.index), (3, 1));
}

#[tokio::test]
async fn fields_count_like_messages() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    let mut wide = chunk(claimed.key, 0, 100);
    for line in &mut wide.lines {
        line.fields = vec![("key".to_owned(), std::mem::take(&mut line.message))];
    }
    house.store.append_logs(&[wide]).await.unwrap();
    house.finish(me, claimed.key, failed(FailureClass::Permanent, &claimed, &at_once())).await;

    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    let bytes: usize = letter.log.iter().map(|line| line.line.fields[0].1.len()).sum();
    assert!(bytes <= 64 * 1024 && bytes > 56 * 1024, "{bytes}");
}

#[tokio::test]
async fn an_end_that_is_refused_in_full_is_written_without_detail() {
    // Given a job with a log, of which the database takes none,
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, id).await;
    house.store.append_logs(&[chunk(claimed.key, 0, 3)]).await.unwrap();
    house.execute("ALTER TABLE dlq ADD CONSTRAINT spite CHECK (log_tail = '[]')").await;
    let mut end = failed(FailureClass::Permanent, &claimed, &at_once());
    if let FinishEnd::Failed { failure, .. } = &mut end {
        failure.message = "long ".repeat(500);
        failure.backtrace = "frame".to_owned();
    }

    // when it fails for good,
    assert_eq!(house.finish(me, claimed.key, end).await, Some(JobState::Failed));

    // then it is a dead letter with what happened, and no more.
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    let [error] = letter.errors.as_slice() else { panic!("{:?}", letter.errors) };
    assert!(error.message.starts_with("long ") && error.message.len() <= 256);
    assert_eq!((error.code.as_str(), error.backtrace.as_str()), ("permanent", ""));
    assert!(letter.log.is_empty());
    house.assert_one_place().await;
}

#[tokio::test]
async fn the_error_history_is_bounded() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let policy = RetryPolicy { max_attempts: 120, ..at_once() };
    for _ in 0..120 {
        let claimed = house.claim_again(me, id).await;
        house.finish(me, claimed.key, failed(FailureClass::Error, &claimed, &policy)).await;
    }
    let errors = house.store.dlq_show(TENANT, id).await.unwrap().unwrap().errors;
    assert_eq!(errors.len(), 100);
    assert_eq!((errors[0].run_lease, errors[99].run_lease), (21, 120));
}

#[tokio::test]
async fn letters_are_listed_newest_first_in_pages() {
    let house = House::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(bury(&house).await);
    }
    ids.reverse();

    let mut listed = Vec::new();
    let mut page = Page { before: None, limit: 2 };
    loop {
        let letters = house.store.dlq_list(TENANT, &DlqFilter::default(), page).await.unwrap();
        let Some(last) = letters.last() else { break };
        page.before = Some(last.id);
        listed.extend(letters.iter().map(|letter| letter.id));
    }
    assert_eq!(listed, ids);

    let none = DlqFilter { kind: Some(kind("blur")), ..DlqFilter::default() };
    let page = Page { before: None, limit: 10 };
    assert!(house.store.dlq_list(TENANT, &none, page).await.unwrap().is_empty());
    let one = DlqFilter { ids: vec![ids[3]], ..DlqFilter::default() };
    assert_eq!(house.store.dlq_list(TENANT, &one, page).await.unwrap().len(), 1);
}

#[tokio::test]
async fn purging_deletes_letters_with_their_jobs_and_nothing_else() {
    let house = House::new().await;
    let (old, new) = (bury(&house).await, bury(&house).await);
    let other = house.running(worker()).await;
    house
        .execute(&format!(
            "UPDATE dlq SET finished_at = now() - INTERVAL '31 days' WHERE job_id = '{old}'"
        ))
        .await;

    let month =
        DlqFilter { older_than: Some(Duration::from_hours(30 * 24)), ..DlqFilter::default() };
    assert_eq!(house.store.dlq_purge(TENANT, &month, 100).await.unwrap(), 1);
    assert!(house.store.job(TENANT, old).await.unwrap().is_none());
    assert_eq!(house.state(new).await, JobState::Failed);

    let all = DlqFilter::default();
    assert_eq!(house.store.dlq_purge(TENANT, &all, 100).await.unwrap(), 1);
    assert_eq!(house.state(other.job).await, JobState::Running);
    house.assert_one_place().await;
}

#[tokio::test]
async fn the_input_of_a_dead_letter_cannot_be_pruned() {
    let house = House::new().await;
    let id = bury(&house).await;
    let pruned = sqlx::query("DELETE FROM jobs WHERE id = $1")
        .bind(id.as_uuid())
        .execute(&mut house.db.connection().await)
        .await;
    assert!(pruned.is_err());
}
