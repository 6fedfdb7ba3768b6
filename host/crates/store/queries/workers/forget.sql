-- Deletes the rows of workers that are no more: gone for a while, or not seen for long. Returns how
-- many.
--
-- $1  milliseconds for which a worker must have been seen to be gone
-- $2  milliseconds for which it must not have been seen at all
-- $3  how many at most
--
-- Those that hold leases stay: an orphan says less about its end than a worker that is gone. Reads
-- both tables whole; they hold no more rows than there are workers and slots. SKIP LOCKED, because
-- a worker that is renewing its row is not gone.
WITH condemned AS MATERIALIZED (
    SELECT w.id
    FROM workers AS w
    WHERE (w.gone_seen_at - w.gone_since >= $1 * INTERVAL '1 millisecond'
           OR w.seen_at < now() - $2 * INTERVAL '1 millisecond')
      AND NOT EXISTS (SELECT FROM leases AS l WHERE l.worker_id = w.id)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM workers AS w
USING condemned
WHERE w.id = condemned.id
