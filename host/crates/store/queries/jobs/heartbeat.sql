-- Renews leases of a worker, and tells which of them it still holds, and which were renewed.
--
-- $1      worker
-- $2, $3  job id and run_lease of each
--
-- Index: the primary key of `leases`, a probe each: the LIMITs and the array keep the planner from
-- reading the whole table for every chunk. The update touches no indexed column and stays HOT.
--
-- Rows that someone else has locked at this moment are held, but not renewed: they are being
-- finished, cancelled or rescued. So a heartbeat waits for nobody, and cannot deadlock.
WITH held AS MATERIALIZED (
    SELECT found.*
    FROM unnest($2::uuid[], $3::bigint[]) AS given (job_id, run_lease)
    CROSS JOIN LATERAL (
        SELECT l.job_id, l.run_lease, l.cancel_requested_at IS NOT NULL AS cancel
        FROM leases AS l
        WHERE l.job_id = given.job_id AND l.run_lease = given.run_lease AND l.worker_id = $1
        LIMIT 1
    ) AS found
),
free AS MATERIALIZED (
    SELECT found.*
    FROM held
    CROSS JOIN LATERAL (
        SELECT l.job_id
        FROM leases AS l
        WHERE l.job_id = held.job_id AND l.run_lease = held.run_lease
        LIMIT 1
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
),
renewed AS (
    UPDATE leases AS l
    SET heartbeat_at = now()
    WHERE l.job_id = ANY (ARRAY(SELECT job_id FROM free))
    RETURNING l.job_id, l.run_lease
)
SELECT held.job_id, held.run_lease, held.cancel, renewed.job_id IS NOT NULL AS renewed
FROM held
LEFT JOIN renewed ON renewed.job_id = held.job_id AND renewed.run_lease = held.run_lease
