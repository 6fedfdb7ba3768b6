-- Resumes a queue and wakes the workers. No row when there is no such queue.
--
-- $1  tenant
-- $2  name
-- $3  the channel to notify
WITH resumed AS (
    UPDATE queues
    SET paused_at = NULL
    WHERE tenant_id = $1 AND name = $2
    RETURNING name
)
SELECT pg_notify($3, 'ready:' || name)::text AS woken FROM resumed
