-- Deletes jobs that ended before the last day that is kept, with their inputs. Returns how many
-- ends it deleted.
--
-- $1  milliseconds to keep
-- $2  how many at most
--
-- Whole days only, so that a partition is emptied and can be dropped, and of the default partition
-- as much. Index: the primary key of each partition that is old enough.
--
-- A job that was brought back has no end any more; should it have one all the same, it is alive,
-- and stays. SKIP LOCKED: someone may be bringing it back at this moment.
WITH day AS MATERIALIZED (
    SELECT date_trunc('day', now() - $1 * INTERVAL '1 millisecond', 'UTC') AS first
),
condemned AS MATERIALIZED (
    SELECT e.job_id, e.finished_at
    FROM ended AS e
    WHERE e.finished_at < date_trunc('day', now() - $1 * INTERVAL '1 millisecond', 'UTC')
    ORDER BY e.job_id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM ended AS e
    USING condemned
    WHERE e.job_id = condemned.job_id
      AND e.finished_at = condemned.finished_at
      AND e.finished_at < date_trunc('day', now() - $1 * INTERVAL '1 millisecond', 'UTC')
    RETURNING e.job_id
),
over AS MATERIALIZED (
    SELECT gone.job_id
    FROM gone
    WHERE NOT EXISTS (SELECT FROM ready AS r WHERE r.job_id = gone.job_id)
      AND NOT EXISTS (SELECT FROM scheduled AS s WHERE s.job_id = gone.job_id)
      AND NOT EXISTS (SELECT FROM held AS h WHERE h.job_id = gone.job_id)
      AND NOT EXISTS (SELECT FROM suspended AS s WHERE s.job_id = gone.job_id)
      AND NOT EXISTS (SELECT FROM leases AS l WHERE l.job_id = gone.job_id)
      AND NOT EXISTS (SELECT FROM dlq AS d WHERE d.job_id = gone.job_id)
      AND NOT EXISTS (
              SELECT FROM ended AS later
              WHERE later.job_id = gone.job_id AND later.finished_at >= (SELECT first FROM day)
          )
),
forgotten AS (
    DELETE FROM checkpoints AS c
    USING over
    WHERE c.job_id = over.job_id
),
jobs_gone AS (
    DELETE FROM jobs AS j
    USING over
    WHERE j.id = over.job_id
)
SELECT count(*) FROM gone
