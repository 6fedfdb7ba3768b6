-- Declares a worker dead. No row: there is no such worker.
--
-- $1  worker
-- $2  the channel to notify
--
-- It claims nothing from now on. Its row stays, so that one that lives hears of it; it is forgotten
-- when it has not been seen for long, which a worker cannot change that is evicted.
WITH declared AS (
    UPDATE workers
    SET evicted_at = COALESCE(evicted_at, now())
    WHERE id = $1
    RETURNING id
)
SELECT pg_notify($2, 'evict:' || id)::text AS woken FROM declared
