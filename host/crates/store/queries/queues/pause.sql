-- Pauses a queue, which need not have had a job yet. Pausing twice keeps the first time.
--
-- $1  tenant
-- $2  name
INSERT INTO queues (tenant_id, name, paused_at)
VALUES ($1, $2, now())
ON CONFLICT (tenant_id, name) DO UPDATE
SET paused_at = COALESCE(queues.paused_at, now())
