//! What a worker says while an attempt runs.

use crate::support::{House, at_once, completed, failed, kind, request, worker};
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::state::JobState;
use cofferdam_store::{ClaimCursor, Progress};
use std::time::Duration;

#[tokio::test]
async fn a_deadline_is_extended_up_to_the_cap_and_never_shortened() {
    let house = House::new().await;
    let me = worker();
    let mut job = house.job();
    job.kind = kind("blur");
    house.enqueue(job).await;
    let key = house.claim(me, 1).await[0].key;
    let (second, cap) = (Duration::from_secs(1), Duration::from_mins(1));

    let more = house.store.extend_deadline(key, second * 10, cap).await.unwrap().unwrap();
    assert!(more > second * 25 && more <= second * 30, "{more:?}");
    let capped = house.store.extend_deadline(key, second * 1000, cap).await.unwrap().unwrap();
    assert!(capped > second * 55 && capped <= cap, "{capped:?}");
    let kept = house.store.extend_deadline(key, second, second * 5).await.unwrap().unwrap();
    assert!(kept > second * 55 && kept <= cap, "{kept:?}");

    let lost = LeaseKey { run_lease: 7, ..key };
    assert_eq!(house.store.extend_deadline(lost, second, cap).await.unwrap(), None);
    let endless = house.store.extend_deadline(key, Duration::MAX, Duration::MAX).await.unwrap();
    assert!(endless.is_some());
}

#[tokio::test]
async fn a_checkpoint_reaches_the_next_attempt_and_only_its_lease_may_write_it() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let first = house.claim_again(me, id).await;
    assert_eq!(first.checkpoint, None);
    assert!(house.store.checkpoint(first.key, b"one").await.unwrap());
    assert!(house.store.checkpoint(first.key, b"two \0").await.unwrap());
    house.finish(me, first.key, failed(FailureClass::Error, &first, &at_once())).await;

    let second = house.claim_again(me, id).await;
    assert_eq!(second.checkpoint.as_deref(), Some(&b"two \0"[..]));
    assert!(!house.store.checkpoint(first.key, b"late").await.unwrap());

    // It goes with the job.
    assert_eq!(house.finish(me, second.key, completed()).await, Some(JobState::Completed));
    assert_eq!(house.db.count("checkpoints").await, 0);
}

#[tokio::test]
async fn progress_shows_while_the_job_runs() {
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    let progress = |key, note: &str| Progress { key, percent: 140, note: note.to_owned() };
    let lost = LeaseKey { run_lease: 9, ..key };

    house.store.set_progress(&[progress(key, "nearly\0"), progress(lost, "no")]).await.unwrap();

    let shown = house.detail(key.job).await.progress.unwrap();
    assert_eq!((shown.percent, shown.note.as_str()), (100, "nearly\u{fffd}"));
}

#[tokio::test]
async fn a_claim_of_nothing_is_nothing() {
    let house = House::new().await;
    house.enqueue(house.job()).await;
    let none = house.store.claim(&request(worker(), 0), &mut ClaimCursor::default()).await.unwrap();
    assert!(none.is_empty());
}
