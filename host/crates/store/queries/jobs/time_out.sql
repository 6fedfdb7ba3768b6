-- Makes jobs claimable whose wait is over although nobody called back. Returns how many.
--
-- $1  how many at most
-- $2  the channel to notify
--
-- Index: suspended_by_timeout. `run_at` is the time at which the wait was over, so that a late sweep
-- does not cost the job its place. A job that is claimable already, which must not be, is left as it
-- is there, so that it does not stand in the way of the others.
WITH due AS MATERIALIZED (
    SELECT job_id
    FROM suspended
    WHERE timeout_at <= now()
    ORDER BY timeout_at, job_id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
),
taken AS (
    DELETE FROM suspended AS s
    USING due
    WHERE s.job_id = due.job_id
    RETURNING s.job_id, s.tenant_id, s.queue_id, s.priority, s.timeout_at, s.run_lease, s.attempts,
              s.crashes
),
moved AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, timeout_at, run_lease, attempts, crashes
    FROM taken
    ON CONFLICT DO NOTHING
    RETURNING queue_id
),
told AS (
    INSERT INTO checkpoints (job_id, tenant_id, run_lease, resumed_at)
    SELECT job_id, tenant_id, run_lease, now()
    FROM taken
    ON CONFLICT (job_id) DO UPDATE
    SET resumed_at = EXCLUDED.resumed_at, answer = NULL
),
woken AS (
    SELECT pg_notify($2, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM moved)
)
SELECT count(*) AS moved, (SELECT count(*) FROM woken) AS woken FROM taken
