//! Leasing jobs.

use crate::support::{
    House, TENANT, at_once, completed, failed, kind, priority, queue, request, version, worker,
};
use chrono::TimeDelta;
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::JobId;
use cofferdam_core::module::Digest;
use cofferdam_core::state::JobState;
use cofferdam_store::jobs::enqueue_in;
use cofferdam_store::{ClaimCursor, Claimed};
use sqlx::Connection as _;
use std::collections::HashSet;
use std::time::Duration;

fn ids(claimed: &[Claimed]) -> Vec<JobId> {
    claimed.iter().map(|job| job.key.job).collect()
}

#[tokio::test]
async fn a_claim_brings_all_that_is_needed_to_run_the_job() {
    let house = House::new().await;
    let mut job = house.job();
    job.kind = kind("blur");
    job.payload = b"bytes \0".to_vec();
    let id = house.enqueue(job).await;

    let claimed = house.claim(worker(), 5).await;

    let [job] = claimed.as_slice() else { panic!("one job: {claimed:?}") };
    assert_eq!((job.key.job, job.key.run_lease), (id, 1));
    assert_eq!(job.payload, b"bytes \0");
    assert_eq!(job.digest, Some(Digest::of(b"the first component")));
    assert_eq!(job.version, Some(house.images.version));
    assert_eq!(job.tenant_name, "default");
    assert_eq!(job.module.as_str(), "images");
    assert_eq!(job.deadline, Duration::from_secs(20), "the kind's own");
    assert!(job.kind_settings.is_some());
    assert_eq!(house.state(id).await, JobState::Running);
    assert_eq!(house.db.count("leases").await, 1);
    house.assert_one_place().await;
}

#[tokio::test]
async fn the_deadline_is_the_jobs_then_the_kinds_then_the_default_below_the_cap() {
    let house = House::new().await;
    for (kind_name, wish, expected) in [
        ("thumbnail", None, 300),
        ("blur", None, 20),
        ("blur", Some(5), 5),
        ("blur", Some(100_000), 3600),
    ] {
        let mut job = house.job();
        job.kind = kind(kind_name);
        job.options.limits.deadline = wish.map(Duration::from_secs);
        house.enqueue(job).await;
        let claimed = house.claim(worker(), 1).await.remove(0);
        assert_eq!(claimed.deadline, Duration::from_secs(expected), "{kind_name} {wish:?}");
        let detail = house.detail(claimed.key.job).await;
        let leased = detail.deadline_at.unwrap() - detail.started_at.unwrap();
        assert_eq!(leased.to_std().unwrap(), claimed.deadline);
    }
}

#[tokio::test]
async fn within_a_lane_priority_comes_first_and_then_time() {
    let house = House::new().await;
    let now = house.store.now().await.unwrap();
    let mut jobs = Vec::new();
    for (level, hours_ago) in [(3, 9), (2, 1), (1, 2), (2, 3), (4, 20), (1, 4)] {
        let mut job = house.job();
        job.priority = priority(level);
        job.run_at = Some(now - TimeDelta::hours(hours_ago));
        jobs.push(job);
    }
    let expected: Vec<_> = [5, 2, 3, 1, 0, 4].map(|index: usize| jobs[index].id).to_vec();
    house.enqueue_all(&jobs).await;

    // One by one and all at once come to the same.
    let mut cursor = ClaimCursor::default();
    let me = worker();
    let mut order = Vec::new();
    for _ in 0..2 {
        order.extend(ids(&house.store.claim(&request(me, 1), &mut cursor).await.unwrap()));
    }
    order.extend(ids(&house.store.claim(&request(me, 9), &mut cursor).await.unwrap()));
    assert_eq!(order, expected);
}

#[tokio::test]
async fn lanes_are_served_in_turn() {
    // Given a queue with a long backlog and two with a job each,
    let house = House::new().await;
    house.enqueue_all(&house.jobs(50)).await;
    for name in ["small", "tiny"] {
        let mut job = house.job();
        job.queue = queue(name);
        house.enqueue(job).await;
    }

    // when a worker with few slots claims,
    let claimed = house.claim(worker(), 5).await;

    // then nobody had to wait for the backlog,
    let queues: HashSet<_> = claimed.iter().map(|job| job.queue.clone()).collect();
    assert_eq!(queues.len(), 3);

    // and with a single slot the lanes take turns, too.
    for name in ["small", "tiny"] {
        let mut job = house.job();
        job.queue = queue(name);
        house.enqueue(job).await;
    }
    let (me, mut cursor, mut turns) = (worker(), ClaimCursor::default(), HashSet::new());
    for _ in 0..3 {
        let claimed = house.store.claim(&request(me, 1), &mut cursor).await.unwrap();
        turns.insert(claimed[0].queue.clone());
    }
    assert_eq!(turns.len(), 3, "{turns:?}");
}

#[tokio::test]
async fn only_the_queues_that_were_asked_for_are_served() {
    let house = House::new().await;
    house.enqueue(house.job()).await;
    let mut other = house.job();
    other.queue = queue("other");
    let id = house.enqueue(other).await;

    let mut only = request(worker(), 10);
    only.queues = vec![queue("other"), queue("nobodys")];
    let claimed = house.store.claim(&only, &mut ClaimCursor::default()).await.unwrap();

    assert_eq!(ids(&claimed), [id]);
}

#[tokio::test]
async fn a_paused_queue_is_skipped_until_it_is_resumed() {
    let house = House::new().await;
    let (me, mut cursor) = (worker(), ClaimCursor::default());
    house.enqueue_all(&house.jobs(3)).await;
    assert_eq!(house.store.claim(&request(me, 1), &mut cursor).await.unwrap().len(), 1);

    house.store.pause_queue(TENANT, &queue("default")).await.unwrap();
    assert!(house.store.claim(&request(me, 10), &mut cursor).await.unwrap().is_empty());
    assert!(house.store.queues(TENANT).await.unwrap()[0].paused_at.is_some());

    assert!(house.store.resume_queue(TENANT, &queue("default")).await.unwrap());
    assert_eq!(house.store.claim(&request(me, 10), &mut cursor).await.unwrap().len(), 2);
    house.assert_one_place().await;
}

#[tokio::test]
async fn jobs_of_the_future_are_not_claimed() {
    let house = House::new().await;
    let mut job = house.job();
    job.run_at = Some(house.store.now().await.unwrap() + TimeDelta::minutes(1));
    house.enqueue(job).await;

    assert!(house.claim(worker(), 10).await.is_empty());
    let due = house.store.next_due().await.unwrap().unwrap();
    assert!(due > Duration::from_secs(50) && due <= Duration::from_mins(1), "{due:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_claimers_get_the_same_job_and_none_is_left_over() {
    // Given two thousand jobs in three lanes,
    let house = House::new().await;
    let mut jobs = house.jobs(2000);
    for (index, job) in jobs.iter_mut().enumerate() {
        job.queue = queue(["a", "b", "c"][index % 3]);
        job.priority = priority(u8::try_from(index % 4).unwrap() + 1);
    }
    house.enqueue_all(&jobs).await;

    // when eight claimers go on until they find nothing,
    let mut claimers = tokio::task::JoinSet::new();
    for size in [1, 7, 20, 20, 33, 50, 50, 64] {
        let store = house.store.clone();
        claimers.spawn(async move {
            let (me, mut cursor, mut all) = (worker(), ClaimCursor::default(), Vec::new());
            loop {
                let claimed = store.claim(&request(me, size), &mut cursor).await.unwrap();
                assert!(claimed.len() <= size);
                if claimed.is_empty() {
                    return all;
                }
                all.extend(ids(&claimed));
            }
        });
    }
    let all: Vec<_> = claimers.join_all().await.concat();

    // then each job went to one of them.
    assert_eq!(all.len(), 2000);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 2000);
    assert_eq!(house.db.count("ready").await, 0);
    assert_eq!(house.db.count("leases").await, 2000);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_that_commits_late_is_neither_lost_nor_in_the_way() {
    // Given a producer whose transaction stays open,
    let house = House::new().await;
    house.enqueue(house.job()).await;
    let (me, mut cursor) = (worker(), ClaimCursor::default());
    let mut producer = house.db.connection().await;
    let mut open = producer.begin().await.unwrap();
    let late = house.job();
    enqueue_in(&mut open, "cofferdam", std::slice::from_ref(&late)).await.unwrap();

    // when others enqueue and claim meanwhile,
    house.enqueue_all(&house.jobs(20)).await;
    let claimed = house.store.claim(&request(me, 15), &mut cursor).await.unwrap();
    assert_eq!(claimed.len(), 15);

    // then its job comes right after it commits, although its time is before those.
    open.commit().await.unwrap();
    let next = house.store.claim(&request(me, 1), &mut cursor).await.unwrap();
    assert_eq!(ids(&next), [late.id]);
}

#[tokio::test]
async fn a_job_far_behind_the_key_is_found_when_there_is_room() {
    // Given a claimer that has got on with a backlog,
    let house = House::new().await;
    let now = house.store.now().await.unwrap();
    let mut jobs = house.jobs(30);
    for job in &mut jobs {
        job.run_at = Some(now - TimeDelta::minutes(1));
    }
    house.enqueue_all(&jobs).await;
    let (me, mut cursor) = (worker(), ClaimCursor::default());
    assert_eq!(house.store.claim(&request(me, 20), &mut cursor).await.unwrap().len(), 20);

    // when a job with an old date comes,
    let mut old = house.job();
    old.run_at = Some(now - TimeDelta::days(1));
    house.enqueue(old.clone()).await;

    // then it is found when the worker asks on: what lay ahead of the key has started meanwhile.
    let ahead = house.store.claim(&request(me, 20), &mut cursor).await.unwrap();
    assert_eq!(ahead.len(), 10);
    let behind = house.store.claim(&request(me, 10), &mut cursor).await.unwrap();
    assert_eq!(ids(&behind), [old.id]);
}

#[tokio::test]
async fn a_job_runs_the_version_that_is_current_unless_it_named_one() {
    let house = House::new().await;
    let mut pinned = house.job();
    pinned.version = Some(house.images.version);
    house.enqueue_all(&[house.job(), pinned.clone()]).await;

    let second = house.store.publish(&version("images", "the second component")).await.unwrap();

    for job in house.claim(worker(), 2).await {
        let expected = if job.key.job == pinned.id { house.images.version } else { second.version };
        assert_eq!(job.version, Some(expected));
    }
}

#[tokio::test]
async fn a_job_without_a_version_is_claimed_and_says_so() {
    let house = House::new().await;
    let mut job = house.job();
    job.kind = kind("unheard-of");
    let strange = house.enqueue(job).await;
    let claimed = house.claim_again(worker(), strange).await;
    assert!(claimed.version.is_some() && claimed.kind_settings.is_none());

    house.enqueue(house.job()).await;
    house.execute("UPDATE modules SET current_version_id = NULL").await;
    let claimed = house.claim(worker(), 1).await.remove(0);
    assert_eq!((claimed.version, claimed.digest, claimed.world), (None, None, None));
}

#[tokio::test]
async fn a_job_that_cannot_be_read_fails_alone_and_says_why() {
    // Given a job whose options another version wrote,
    let house = House::new().await;
    let strange = house.enqueue(house.job()).await;
    house.execute(r#"UPDATE jobs SET options = '{"from": "the future"}'"#).await;
    let good = house.enqueue(house.job()).await;

    // when both are claimed,
    let claimed = house.claim(worker(), 10).await;

    // then one runs, and the other is in the DLQ with the reason.
    assert_eq!(ids(&claimed), [good]);
    assert_eq!(house.state(strange).await, JobState::Failed);
    house.execute("UPDATE jobs SET options = '{\"limits\": {}}'").await;
    let letter = house.store.dlq_show(TENANT, strange).await.unwrap().unwrap();
    assert_eq!(letter.summary.class, FailureClass::NotRunnable);
    assert!(letter.summary.message.contains("future") || letter.summary.message.contains("from"));
    house.assert_one_place().await;
}

#[tokio::test]
async fn each_claim_of_a_job_has_a_lease_of_its_own() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    for run_lease in 1..=3 {
        let claimed = house.claim_again(me, id).await;
        assert_eq!(claimed.key.run_lease, run_lease);
        assert_eq!(claimed.counters.attempts + 1, u32::try_from(run_lease).unwrap());
        house.finish(me, claimed.key, failed(FailureClass::Error, &claimed, &at_once())).await;
    }
    let claimed = house.claim_again(me, id).await;
    assert_eq!(house.finish(me, claimed.key, completed()).await, Some(JobState::Completed));
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_claimer_that_is_stuck_does_not_hold_up_the_others() {
    // Given a claimer that stopped in the middle of its transaction,
    let house = House::new().await;
    let id = house.enqueue(house.job()).await;
    let mut stuck = house.db.connection().await;
    let mut open = stuck.begin().await.unwrap();
    sqlx::query("SELECT FROM queues FOR NO KEY UPDATE").execute(&mut *open).await.unwrap();

    // when another one claims, then it is told soon that there is nothing for it now;
    let claim = tokio::time::timeout(Duration::from_secs(15), house.claim(worker(), 1));
    assert!(claim.await.expect("an answer before the statement timeout").is_empty());

    // and the job is there for the next poll.
    open.rollback().await.unwrap();
    house.claim_again(worker(), id).await;
}
