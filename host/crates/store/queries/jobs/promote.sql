-- Makes jobs claimable whose time has come. Returns how many.
--
-- $1  how many at most
-- $2  the channel to notify
--
-- Index: scheduled_by_due. `run_at` is the time at which the job became due, so that a late
-- promotion does not cost it its place. A job that is claimable already, which must not be, is left
-- as it is there, so that it does not stand in the way of the others.
WITH due AS MATERIALIZED (
    SELECT job_id
    FROM scheduled
    WHERE due_at <= now()
    ORDER BY due_at, job_id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
),
taken AS (
    DELETE FROM scheduled AS s
    USING due
    WHERE s.job_id = due.job_id
    RETURNING s.job_id, s.tenant_id, s.queue_id, s.priority, s.due_at, s.run_lease, s.attempts,
              s.crashes
),
moved AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, due_at, run_lease, attempts, crashes
    FROM taken
    ON CONFLICT DO NOTHING
    RETURNING queue_id
),
woken AS (
    SELECT pg_notify($2, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM moved)
)
SELECT count(*) AS moved, (SELECT count(*) FROM woken) AS woken FROM taken
