-- A page of a job's log, oldest first.
--
-- $1      job id
-- $2      tenant
-- $3..$5  run_lease, chunk and line of the last line of the page before; zeros to begin
-- $6      how many lines at most
--
-- Index: the primary key of each partition. A chunk has at least one line, so that no more chunks
-- than lines are wanted; the first one may be read in part already.
SELECT chunk.run_lease, chunk.seq, each.n AS index, chunk.attempt, each.line
FROM (
    SELECT c.run_lease, c.seq, c.attempt, c.lines
    FROM job_logs AS c
    WHERE c.job_id = $1 AND c.tenant_id = $2 AND (c.run_lease, c.seq) >= ($3, $4)
    ORDER BY c.run_lease, c.seq
    LIMIT $6 + 1
) AS chunk
CROSS JOIN jsonb_array_elements(chunk.lines) WITH ORDINALITY AS each (line, n)
WHERE (chunk.run_lease, chunk.seq, each.n) > ($3, $4, $5)
ORDER BY chunk.run_lease, chunk.seq, each.n
LIMIT $6
