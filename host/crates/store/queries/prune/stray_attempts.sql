-- Deletes old attempts that lie in the default partition, because their day had none.
--
-- $1  milliseconds to keep
-- $2  how many at most
--
-- The default partition is next to empty, and read whole.
DELETE FROM attempts_default
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM attempts_default
    WHERE ended_at < date_trunc('day', now() - $1 * INTERVAL '1 millisecond', 'UTC')
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))
