-- Keeps bytes for the next attempt. No row: lease lost, and nothing was written.
--
-- $1, $2  job id and run_lease
-- $3      the bytes
--
-- The lease is locked, so that it cannot end between the look and the write: against being deleted
-- only. A heartbeat passes, so that a guest that does nothing but checkpoints cannot keep its own
-- lease from being renewed.
WITH held AS (
    SELECT job_id, tenant_id, run_lease
    FROM leases
    WHERE job_id = $1 AND run_lease = $2
    FOR KEY SHARE
)
INSERT INTO checkpoints (job_id, tenant_id, run_lease, bytes)
SELECT job_id, tenant_id, run_lease, $3
FROM held
ON CONFLICT (job_id) DO UPDATE
SET run_lease = EXCLUDED.run_lease, bytes = EXCLUDED.bytes, written_at = now()
RETURNING job_id
