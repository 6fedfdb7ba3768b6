-- Renews leases of a worker, and tells which of them it still holds, and which were renewed.
--
-- $1      worker
-- $2, $3  job id and run_lease of each
--
-- Index: the primary key of `leases`. The update touches no indexed column and stays HOT.
--
-- Rows that someone else has locked at this moment are held, but not renewed: they are being
-- finished, cancelled or rescued. So a heartbeat waits for nobody, and cannot deadlock.
WITH held AS MATERIALIZED (
    SELECT l.job_id, l.run_lease, l.cancel_requested_at IS NOT NULL AS cancel
    FROM unnest($2::uuid[], $3::bigint[]) AS given (job_id, run_lease)
    JOIN leases AS l ON l.job_id = given.job_id AND l.run_lease = given.run_lease
    WHERE l.worker_id = $1
),
free AS MATERIALIZED (
    SELECT l.job_id, l.run_lease
    FROM leases AS l
    JOIN held ON held.job_id = l.job_id AND held.run_lease = l.run_lease
    FOR NO KEY UPDATE OF l SKIP LOCKED
),
renewed AS (
    UPDATE leases AS l
    SET heartbeat_at = now()
    FROM free
    WHERE l.job_id = free.job_id AND l.run_lease = free.run_lease
    RETURNING l.job_id, l.run_lease
)
SELECT held.job_id, held.run_lease, held.cancel, renewed.job_id IS NOT NULL AS renewed
FROM held
LEFT JOIN renewed ON renewed.job_id = held.job_id AND renewed.run_lease = held.run_lease
