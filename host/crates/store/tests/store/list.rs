//! Lists of jobs.

use crate::support::{House, TENANT, at_once, completed, failed, kind, module, queue, worker};
use chrono::TimeDelta;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::RetryPolicy;
use cofferdam_core::ids::TenantId;
use cofferdam_core::state::JobState;
use cofferdam_store::{JobFilter, Page};
use uuid::Uuid;

const ALL: Page = Page { before: None, limit: 100 };

#[tokio::test]
async fn jobs_are_listed_newest_first_in_pages_in_every_state() {
    // Given jobs in all states,
    let house = House::new().await;
    let me = worker();
    let mut ids = Vec::new();
    for state in [
        JobState::Completed,
        JobState::Retryable,
        JobState::Failed,
        JobState::Running,
        JobState::Cancelled,
        JobState::Available,
        JobState::Scheduled,
        JobState::Dead,
    ] {
        let mut job = house.job();
        if state == JobState::Scheduled {
            job.run_at = Some(house.store.now().await.unwrap() + TimeDelta::hours(1));
        }
        job.queue = queue(state.as_str());
        let id = house.enqueue(job).await;
        ids.push((id, state));
        if matches!(state, JobState::Available | JobState::Scheduled) {
            continue;
        }
        if state == JobState::Cancelled {
            house.store.cancel(TENANT, id).await.unwrap();
            continue;
        }
        let mut request = crate::support::request(me, 1);
        request.queues = vec![queue(state.as_str())];
        let mut claimed = house.store.claim(&request, &mut <_>::default()).await.unwrap();
        let claimed = claimed.remove(0);
        let once = RetryPolicy { max_attempts: 1, ..at_once() };
        let end = match state {
            JobState::Completed => completed(),
            JobState::Retryable => failed(FailureClass::Error, &claimed, &RetryPolicy::default()),
            JobState::Failed => failed(FailureClass::Fuel, &claimed, &once),
            JobState::Dead => failed(FailureClass::Error, &claimed, &once),
            _ => continue,
        };
        house.finish(me, claimed.key, end).await;
    }
    ids.reverse();

    // when they are listed in pages of three,
    let (mut listed, mut page) = (Vec::new(), Page { before: None, limit: 3 });
    loop {
        let rows = house.store.list_jobs(TENANT, &JobFilter::default(), page).await.unwrap();
        let Some(last) = rows.last() else { break };
        page.before = Some(last.id);
        listed.extend(rows.iter().map(|row| (row.id, row.state)));
    }

    // then each is there once, newest first; and so in its own state, and only there.
    assert_eq!(listed, ids);
    for (id, state) in ids {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        let rows = house.store.list_jobs(TENANT, &filter, ALL).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [id], "{state}");
        let class = matches!(state, JobState::Retryable | JobState::Failed | JobState::Dead);
        assert_eq!(rows[0].class.is_some(), class, "{state}");
        let beyond = Page { before: Some(id), limit: 10 };
        assert!(house.store.list_jobs(TENANT, &filter, beyond).await.unwrap().is_empty());
    }
    house.assert_one_place().await;
}

#[tokio::test]
async fn filters_keep_what_they_name() {
    let house = House::new().await;
    let mut odd = house.job();
    odd.kind = kind("blur");
    odd.queue = queue("odd");
    let odd = house.enqueue(odd).await;
    house.enqueue(house.job()).await;
    for state in [None, Some(JobState::Available)] {
        let none = || JobFilter { state, ..JobFilter::default() };
        for (filter, expected) in [
            (none(), 2),
            (JobFilter { kind: Some(kind("blur")), ..none() }, 1),
            (JobFilter { queue: Some(queue("odd")), ..none() }, 1),
            (JobFilter { queue: Some(queue("none")), ..none() }, 0),
            (JobFilter { module: Some(module("images")), ..none() }, 2),
            (JobFilter { module: Some(module("sounds")), ..none() }, 0),
        ] {
            let rows = house.store.list_jobs(TENANT, &filter, ALL).await.unwrap();
            assert_eq!(rows.len(), expected, "{filter:?}");
            assert!(expected != 1 || rows[0].id == odd, "{filter:?}");
        }
    }
}

#[tokio::test]
async fn one_tenant_sees_nothing_of_another() {
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    house.finish(me, key, completed()).await;
    let other = TenantId::from_uuid(Uuid::from_u128(99));
    let store = &house.store;

    assert!(store.list_jobs(other, &JobFilter::default(), ALL).await.unwrap().is_empty());
    assert!(store.job(other, key.job).await.unwrap().is_none());
    assert!(store.job_state(other, key.job).await.unwrap().is_none());
    assert!(store.job_payload(other, key.job).await.unwrap().is_none());
    assert!(store.job_output(other, key.job).await.unwrap().is_none());
    assert!(store.logs(other, key.job, None, 10).await.unwrap().is_empty());
    assert!(store.modules(other, None, 10).await.unwrap().is_empty());
    assert!(store.queues(other).await.unwrap().is_empty());
}
