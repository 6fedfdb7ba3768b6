//! New jobs.

use crate::support::{House, TENANT, execute, queue, worker};
use chrono::TimeDelta;
use cofferdam_core::ids::TenantId;
use cofferdam_core::state::JobState;
use cofferdam_store::StoreError;
use cofferdam_store::jobs::enqueue_in;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

#[tokio::test]
async fn a_job_is_kept_as_it_was_asked_for() {
    let house = House::new().await;
    let mut job = house.job();
    job.payload = b"\0\xff binary \0".to_vec();
    job.options.metadata.insert("who".to_owned(), "me".to_owned());
    let id = house.enqueue(job.clone()).await;

    let detail = house.detail(id).await;
    assert_eq!(detail.state, JobState::Available);
    assert_eq!(detail.options, job.options);
    assert_eq!(detail.queue, job.queue);
    assert_eq!(detail.payload_bytes, job.payload.len() as u64);
    assert_eq!(house.store.job_payload(TENANT, id).await.unwrap().unwrap(), job.payload);
    house.assert_one_place().await;
}

#[tokio::test]
async fn many_jobs_go_in_together_and_are_answered_in_their_order() {
    let house = House::new().await;
    let mut jobs = house.jobs(1000);
    jobs.reverse();

    let answers = house.enqueue_all(&jobs).await;

    assert!(answers.iter().zip(&jobs).all(|(answer, job)| answer.id == job.id && answer.created));
    assert_eq!(house.db.count("ready").await, 1000);
    house.assert_one_place().await;
}

#[tokio::test]
async fn submitting_twice_is_submitting_once() {
    // Given a job that has been completed,
    let house = House::new().await;
    let job = house.job();
    house.enqueue(job.clone()).await;
    let me = worker();
    let claimed = house.claim(me, 1).await.remove(0);
    house.finish(me, claimed.key, crate::support::completed()).await;

    // when it is submitted again, with a new one that itself is given twice,
    let fresh = house.job();
    let answers = house.enqueue_all(&[job.clone(), fresh.clone(), fresh.clone()]).await;

    // then only the new one is added, once, and the old one is where it was.
    let told: Vec<_> = answers.iter().map(|answer| (answer.created, answer.state)).collect();
    assert_eq!(
        told,
        [(false, JobState::Completed), (true, JobState::Available), (false, JobState::Available)]
    );
    assert_eq!(house.db.count("jobs").await, 2);
    house.assert_one_place().await;
}

#[tokio::test]
async fn two_submissions_of_the_same_jobs_at_once_add_them_once() {
    let house = House::new().await;
    let jobs = house.jobs(200);
    let mut backwards = jobs.clone();
    backwards.reverse();

    let (one, other) = tokio::join!(house.store.enqueue(&jobs), house.store.enqueue(&backwards));

    let created = |answers: Vec<cofferdam_store::Enqueued>| {
        answers.into_iter().filter(|answer| answer.created).count()
    };
    assert_eq!(created(one.unwrap()) + created(other.unwrap()), 200);
    house.assert_one_place().await;
}

#[tokio::test]
async fn the_id_of_another_tenants_job_is_refused_and_nothing_is_stored() {
    let house = House::new().await;
    let other = TenantId::from_uuid(Uuid::from_u128(7));
    house
        .execute("INSERT INTO tenants VALUES ('00000000-0000-0000-0000-000000000007', 'other')")
        .await;
    let job = house.job();
    house.enqueue(job.clone()).await;

    let mut theft = job.clone();
    theft.tenant = other;
    let mut honest = house.job();
    honest.tenant = other;
    let refused = house.store.enqueue(&[honest, theft]).await;

    assert!(matches!(refused, Err(StoreError::JobIdTaken(id)) if id == job.id));
    assert_eq!(house.db.count("jobs").await, 1);
    assert!(house.store.job(other, job.id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_job_of_the_future_waits_and_one_of_the_past_does_not() {
    let house = House::new().await;
    let now = house.store.now().await.unwrap();
    let mut later = house.job();
    later.run_at = Some(now + TimeDelta::hours(1));
    let mut earlier = house.job();
    earlier.run_at = Some(now - TimeDelta::days(1_000_000));

    let states: Vec<_> =
        house.enqueue_all(&[later, earlier]).await.into_iter().map(|job| job.state).collect();

    assert_eq!(states, [JobState::Scheduled, JobState::Available]);
    house.assert_one_place().await;
}

#[tokio::test]
async fn jobs_may_come_with_the_callers_own_transaction() {
    // Given an application with its own tables, one of them called `jobs`,
    let house = House::new().await;
    let mut application = PgConnection::connect(&house.db.url()).await.unwrap();
    execute(&mut application, "CREATE TABLE public.jobs (customer text)").await;

    for commit in [false, true] {
        // when it enqueues within its transaction, also into a queue that is new,
        let mut job = house.job();
        job.queue = queue(if commit { "committed" } else { "rolled-back" });
        let mut transaction = application.begin().await.unwrap();
        let path_before = search_path(&mut transaction).await;
        let answers = enqueue_in(&mut transaction, "cofferdam", &[job.clone()]).await.unwrap();
        assert!(answers[0].created);
        assert_eq!(search_path(&mut transaction).await, path_before);
        sqlx::query("INSERT INTO jobs VALUES ('ours')").execute(&mut *transaction).await.unwrap();
        assert_eq!(house.store.job(TENANT, job.id).await.unwrap().map(|job| job.id), None);

        // then the job is there when, and only when, that commits.
        if commit {
            transaction.commit().await.unwrap();
            assert_eq!(house.state(job.id).await, JobState::Available);
        } else {
            transaction.rollback().await.unwrap();
            assert!(house.store.job(TENANT, job.id).await.unwrap().is_none());
        }
    }
    house.assert_one_place().await;
}

async fn search_path(connection: &mut PgConnection) -> String {
    sqlx::query_scalar("SELECT current_setting('search_path')").fetch_one(connection).await.unwrap()
}
