-- Asks a worker to take no more work, to end what it runs and to leave. No row: there is no such
-- worker, or it was evicted.
--
-- $1  worker
-- $2  the channel to notify
--
-- The wish is durable: a worker that misses the notification finds it when it renews its row.
WITH asked AS (
    UPDATE workers
    SET drain_requested_at = COALESCE(drain_requested_at, now())
    WHERE id = $1 AND evicted_at IS NULL
    RETURNING id
)
SELECT pg_notify($2, 'drain:' || id)::text AS woken FROM asked
