-- Deletes evidence against versions that is too old to count.
--
-- $1  milliseconds to keep
-- $2  how many at most
--
-- A few rows, read whole. SKIP LOCKED: someone may be adding to it.
DELETE FROM process_deaths
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM process_deaths
    WHERE died_at < now() - $1 * INTERVAL '1 millisecond'
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))
