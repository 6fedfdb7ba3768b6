-- Makes a job claimable again that failed, died or was cancelled.
--
-- $1  job id
-- $2  tenant
-- $3  the version to run from now on, or NULL for what was asked for
-- $4  the channel to notify
--
-- The budgets start anew; `run_lease` goes on, so that outcomes of old attempts stay refused.
WITH from_dlq AS (
    DELETE FROM dlq
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, tenant_id, queue_id, priority, run_lease
),
from_ended AS (
    DELETE FROM ended
    WHERE job_id = $1 AND tenant_id = $2 AND state = 'cancelled'
    RETURNING job_id, tenant_id, queue_id, priority, run_lease
),
revived AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease)
    SELECT job_id, tenant_id, queue_id, priority, now(), run_lease
    FROM (SELECT * FROM from_dlq UNION ALL SELECT * FROM from_ended) AS ended_before
    RETURNING job_id, queue_id
),
pinned AS (
    UPDATE jobs AS j
    SET version_id = $3
    FROM revived
    WHERE j.id = revived.job_id AND $3::uuid IS NOT NULL
),
woken AS (
    SELECT pg_notify($4, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM revived)
)
SELECT EXISTS (SELECT FROM revived) AS revived,
       (SELECT count(*) FROM woken) AS woken,
       (SELECT state FROM job_state WHERE job_id = $1 AND tenant_id = $2) AS seen
