-- Cancels a job: at once where it waits, as a durable intent where it runs.
--
-- $1  job id
-- $2  tenant
-- $3  the channel to notify
--
-- Claim and cancel both delete the row in `ready`; whoever comes second finds it gone. A cancel
-- that finds it gone changes nothing and is tried again with a new snapshot, which sees the lease.
WITH from_ready AS (
    DELETE FROM ready
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, tenant_id, queue_id, priority, run_lease, attempts, crashes
),
from_scheduled AS (
    DELETE FROM scheduled
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, tenant_id, queue_id, priority, run_lease, attempts, crashes
),
from_held AS (
    DELETE FROM held
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, tenant_id, queue_id, priority, run_lease, attempts, crashes
),
from_suspended AS (
    DELETE FROM suspended
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, tenant_id, queue_id, priority, run_lease, attempts, crashes
),
cancelled AS (
    INSERT INTO ended (job_id, tenant_id, queue_id, priority, state, cause, finished_at, run_lease,
                       attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, 'cancelled', 'user', now(), run_lease,
           attempts, crashes
    FROM (
        SELECT * FROM from_ready
        UNION ALL
        SELECT * FROM from_scheduled
        UNION ALL
        SELECT * FROM from_held
        UNION ALL
        SELECT * FROM from_suspended
    ) AS waiting
    RETURNING job_id
),
forgotten AS (
    DELETE FROM checkpoints AS c
    USING cancelled
    WHERE c.job_id = cancelled.job_id
),
asked AS (
    UPDATE leases
    SET cancel_requested_at = COALESCE(cancel_requested_at, now()),
        cancel_cause = COALESCE(cancel_cause, 'user')
    WHERE job_id = $1 AND tenant_id = $2
    RETURNING job_id, run_lease
),
woken AS (
    SELECT pg_notify($3, 'cancel:' || job_id || '#' || run_lease) FROM asked
)
SELECT EXISTS (SELECT FROM cancelled) AS cancelled,
       (SELECT count(*) FROM woken) > 0 AS requested,
       (SELECT state FROM job_state WHERE job_id = $1 AND tenant_id = $2) AS seen
