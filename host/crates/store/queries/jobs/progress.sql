-- Notes how far attempts are. Leases that are gone, or locked at this moment, are left out: the
-- next word wins anyway, and a note must not wait behind an outcome.
--
-- $1, $2  job id and run_lease of each
-- $3, $4  percent and note
WITH given AS (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::text[])
             AS g (job_id, run_lease, percent, note)
),
free AS MATERIALIZED (
    SELECT l.job_id, given.percent, given.note
    FROM leases AS l
    JOIN given ON given.job_id = l.job_id AND given.run_lease = l.run_lease
    FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE leases AS l
SET progress_percent = free.percent, progress_note = free.note
FROM free
WHERE l.job_id = free.job_id
