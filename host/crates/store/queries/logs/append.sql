-- Adds chunks of log lines of attempts.
--
-- $1..$5  job id, run_lease, attempt, sequence number and lines of each chunk
--
-- Not fenced: an attempt that lost its lease did write these lines, and they are kept under its
-- own run_lease. Chunks of jobs that do not exist (any more) are left out, and a chunk that comes
-- twice is kept once.
INSERT INTO job_logs (job_id, tenant_id, run_lease, attempt, seq, written_at, lines)
SELECT given.job_id, j.tenant_id, given.run_lease, given.attempt, given.seq, now(), given.lines
FROM unnest($1::uuid[], $2::bigint[], $3::integer[], $4::integer[], $5::jsonb[])
     AS given (job_id, run_lease, attempt, seq, lines)
JOIN jobs AS j ON j.id = given.job_id
WHERE NOT EXISTS (
    SELECT FROM job_logs AS kept
    WHERE kept.job_id = given.job_id
      AND kept.run_lease = given.run_lease
      AND kept.seq = given.seq
)
