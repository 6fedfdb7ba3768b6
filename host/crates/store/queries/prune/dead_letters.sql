-- Deletes dead letters of every tenant with their jobs, oldest first. Returns how many.
--
-- $1  milliseconds to keep
-- $2  how many at most
--
-- Index: dlq_by_end.
WITH condemned AS MATERIALIZED (
    SELECT d.job_id
    FROM dlq AS d
    WHERE d.finished_at < now() - $1 * INTERVAL '1 millisecond'
    ORDER BY d.finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM dlq AS d
    USING condemned
    WHERE d.job_id = condemned.job_id
    RETURNING d.job_id
),
forgotten AS (
    DELETE FROM checkpoints AS c
    USING gone
    WHERE c.job_id = gone.job_id
),
jobs_gone AS (
    DELETE FROM jobs AS j
    USING gone
    WHERE j.id = gone.job_id
)
SELECT count(*) FROM gone
