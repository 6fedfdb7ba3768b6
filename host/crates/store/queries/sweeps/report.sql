-- Adds what sweeps did to the sums, and notes how each ran last.
--
-- $1       worker
-- $2       its epoch as the leader
-- $3       names, distinct
-- $4       milliseconds since each ran last
-- $5, $6   microseconds that it took, and rows that it moved
-- $7..$9   runs, rows and failures since the last report
-- $10      the error of the last run; NULL when it went well
-- $11      counts of recovery times, $13 of them for each, one after the other
-- $12      sum of these times in milliseconds
-- $13      how many buckets there are
--
-- Index: the primary key. Whoever reports last is shown; the sums are right whoever reports.
INSERT INTO sweeps AS s (name, worker_id, epoch, last_run_at, last_micros, last_rows, error,
                         last_error, last_error_at, runs, rows, failures, recovery, recovery_ms)
SELECT given.name, $1, $2, now() - given.ago_ms * INTERVAL '1 millisecond', given.micros,
       given.last_rows, given.error, given.error,
       CASE WHEN given.error IS NOT NULL THEN now() - given.ago_ms * INTERVAL '1 millisecond' END,
       given.runs, given.rows, given.failures,
       ($11::bigint[])[(given.n - 1) * $13 + 1 : given.n * $13],
       given.recovery_ms
FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
            $9::bigint[], $10::text[], $12::bigint[])
     WITH ORDINALITY AS given (name, ago_ms, micros, last_rows, runs, rows, failures, error,
                               recovery_ms, n)
ORDER BY given.name
ON CONFLICT (name) DO UPDATE
SET worker_id = EXCLUDED.worker_id,
    epoch = EXCLUDED.epoch,
    last_run_at = EXCLUDED.last_run_at,
    last_micros = EXCLUDED.last_micros,
    last_rows = EXCLUDED.last_rows,
    error = EXCLUDED.error,
    last_error = COALESCE(EXCLUDED.last_error, s.last_error),
    last_error_at = COALESCE(EXCLUDED.last_error_at, s.last_error_at),
    runs = s.runs + EXCLUDED.runs,
    rows = s.rows + EXCLUDED.rows,
    failures = s.failures + EXCLUDED.failures,
    recovery = ARRAY(
        SELECT COALESCE(before.count, 0) + COALESCE(since.count, 0)
        FROM unnest(s.recovery) WITH ORDINALITY AS before (count, n)
        FULL JOIN unnest(EXCLUDED.recovery) WITH ORDINALITY AS since (count, n) USING (n)
        ORDER BY n
    ),
    recovery_ms = s.recovery_ms + EXCLUDED.recovery_ms
