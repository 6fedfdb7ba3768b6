-- Deletes old log chunks that lie in the default partition, because their day had none.
--
-- $1  milliseconds to keep
-- $2  how many at most
--
-- Shape as in stray_attempts.sql.
DELETE FROM job_logs_default
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM job_logs_default
    WHERE written_at < date_trunc('day', now() - $1 * INTERVAL '1 millisecond', 'UTC')
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))
