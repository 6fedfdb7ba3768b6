-- Waits until some lane with work is not locked. No row when there is no such lane.
--
-- $1  names of the queues to serve; empty for all
-- $2  how long to wait, as Postgres writes durations; after it, the statement fails
-- $3  the worker, which waits for nothing when it was evicted
--
-- A claimer that found every lane taken would otherwise sleep until the next poll. One lane only:
-- waiting for several in turn could deadlock. The lock is gone with this statement; the claim is
-- then tried again, with a snapshot that sees what the other claimer took.
WITH RECURSIVE
-- For this transaction only. No row is locked before the join below has read this one.
bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', $2, true)
),
lane_with_work (queue_id) AS (
    (SELECT queue_id FROM ready ORDER BY queue_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT r.queue_id FROM ready AS r
        WHERE r.queue_id > l.queue_id
        ORDER BY r.queue_id
        LIMIT 1
    )
    FROM lane_with_work AS l
    WHERE l.queue_id IS NOT NULL
)
SELECT q.id
FROM queues AS q
CROSS JOIN bounded
WHERE q.id IN (SELECT queue_id FROM lane_with_work)
  AND q.paused_at IS NULL
  AND (cardinality($1::text[]) = 0 OR q.name = ANY ($1::text[]))
  AND NOT EXISTS (SELECT FROM workers AS me WHERE me.id = $3 AND me.evicted_at IS NOT NULL)
LIMIT 1
FOR NO KEY UPDATE OF q
