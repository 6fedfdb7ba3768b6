-- Ends attempts that did not end well, and puts each job where the verdict says.
-- Returns the leases that were still held; the rest were stale.
--
-- $1        worker, or NULL for the sweeps, which end other workers' attempts
-- $2, $3    job id and run_lease of each
-- $4        state that the job goes to
-- $5        milliseconds that it waits there
-- $6, $7    attempts and crashes afterwards
-- $8        which budget is used up, for `dead`
-- $9..$12   class, code, message and backtrace
-- $13..$18  fuel, CPU and wall microseconds, peak memory, log and output bytes
-- $19       the channel to notify
-- $20       how many errors a dead letter keeps
-- $21, $22  how many bytes and how many lines of log it keeps; of zero lines, nothing is read
-- $23       hash of the callback that it waits for, for `suspended`
--
-- Index: the primary key of `leases`; `attempts` and `job_logs` by job, for dead letters only.
-- A cancel that was asked for wins over every verdict.
WITH given AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::integer[],
                         $7::integer[], $8::text[], $9::text[], $10::text[], $11::text[],
                         $12::text[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[],
                         $17::bigint[], $18::bigint[], $23::bytea[])
             AS g (job_id, run_lease, state, delay_ms, attempts, crashes, reason, class, code,
                   message, backtrace, fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes,
                   output_bytes, token_hash)
),
taken AS (
    DELETE FROM leases AS l
    USING given AS g
    WHERE l.job_id = g.job_id
      AND l.run_lease = g.run_lease
      AND ($1::uuid IS NULL OR l.worker_id = $1)
    RETURNING l.job_id, l.tenant_id, l.queue_id, l.priority, l.run_lease, l.worker_id,
              l.version_id, l.claimed_at, l.attempts + 1 AS attempt,
              CASE WHEN l.cancel_cause IS NULL THEN g.state ELSE 'cancelled' END AS state,
              COALESCE(l.cancel_cause, 'user') AS cancel_cause,
              g.delay_ms, g.attempts, g.crashes, g.reason, g.class, g.code, g.message, g.backtrace,
              g.fuel, g.cpu_micros, g.wall_micros, g.peak_memory_bytes, g.log_bytes, g.output_bytes,
              g.token_hash
),
recorded AS (
    INSERT INTO attempts (job_id, tenant_id, run_lease, attempt, worker_id, version_id, started_at,
                          ended_at, class, code, message, backtrace, fuel, cpu_micros, wall_micros,
                          peak_memory_bytes, log_bytes, output_bytes)
    SELECT job_id, tenant_id, run_lease, attempt, worker_id, version_id, claimed_at,
           now(), class, code, message, backtrace, fuel, cpu_micros, wall_micros,
           peak_memory_bytes, log_bytes, output_bytes
    FROM taken
),
-- A job that was only given back keeps its place in the line.
ready_again AS (
    INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority,
           CASE WHEN class = 'released'
                THEN (SELECT j.run_at FROM jobs AS j WHERE j.id = taken.job_id)
                ELSE now()
           END,
           run_lease, attempts, crashes
    FROM taken
    WHERE state = 'available'
    RETURNING queue_id
),
later AS (
    INSERT INTO scheduled (job_id, tenant_id, queue_id, priority, due_at, reason, run_lease,
                           attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority,
           now() + delay_ms * INTERVAL '1 millisecond', state, run_lease, attempts, crashes
    FROM taken
    WHERE state IN ('scheduled', 'retryable')
),
put_aside AS (
    INSERT INTO suspended (job_id, tenant_id, queue_id, priority, token_hash, timeout_at, worker_id,
                           version_id, run_lease, attempts, crashes)
    SELECT job_id, tenant_id, queue_id, priority, token_hash,
           now() + delay_ms * INTERVAL '1 millisecond', worker_id, version_id, run_lease, attempts,
           crashes
    FROM taken
    WHERE state = 'suspended'
),
cancelled AS (
    INSERT INTO ended (job_id, tenant_id, queue_id, priority, state, cause, finished_at, started_at,
                       worker_id, version_id, run_lease, attempts, crashes, fuel, cpu_micros,
                       wall_micros, peak_memory_bytes, log_bytes, output_bytes)
    SELECT job_id, tenant_id, queue_id, priority, state, cancel_cause, now(), claimed_at,
           worker_id, version_id, run_lease, attempts, crashes, fuel, cpu_micros,
           wall_micros, peak_memory_bytes, log_bytes, output_bytes
    FROM taken
    WHERE state = 'cancelled'
    RETURNING job_id
),
-- A dead letter keeps its checkpoint: a retry goes on from it.
forgotten AS (
    DELETE FROM checkpoints AS c
    USING cancelled
    WHERE c.job_id = cancelled.job_id
),
buried AS (
    INSERT INTO dlq (job_id, tenant_id, queue_id, priority, module_id, kind, state, reason, class,
                     code, message, finished_at, started_at, worker_id, version_id, version_name,
                     digest, kind_settings, run_lease, attempts, crashes, fuel, cpu_micros,
                     wall_micros, peak_memory_bytes, log_bytes, output_bytes, errors, log_tail)
    SELECT t.job_id, t.tenant_id, t.queue_id, t.priority, j.module_id, j.kind, t.state, t.reason,
           t.class, t.code, t.message, now(), t.claimed_at, t.worker_id, t.version_id, v.name,
           v.digest, k.settings, t.run_lease, t.attempts, t.crashes, t.fuel, t.cpu_micros,
           t.wall_micros, t.peak_memory_bytes, t.log_bytes, t.output_bytes,
           -- The row of this attempt is written by this very statement, which does not see it.
           COALESCE(earlier.errors, '[]') || jsonb_build_object(
               'at', now(), 'attempt', t.attempt, 'run_lease', t.run_lease, 'worker', t.worker_id,
               'class', t.class, 'code', t.code, 'message', t.message, 'backtrace', t.backtrace),
           COALESCE(log.tail, '[]')
    FROM taken AS t
    JOIN jobs AS j ON j.id = t.job_id
    LEFT JOIN module_versions AS v ON v.id = t.version_id
    LEFT JOIN kinds AS k ON k.version_id = t.version_id AND k.name = j.kind
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(latest.entry ORDER BY latest.run_lease) AS errors
        FROM (
            SELECT e.run_lease, e.entry
            FROM job_error AS e
            WHERE e.job_id = t.job_id
            ORDER BY e.run_lease DESC
            LIMIT $20 - 1
        ) AS latest
    ) AS earlier
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(
                   jsonb_build_object('attempt', counted.attempt, 'run_lease', counted.run_lease,
                                      'seq', counted.seq, 'index', counted.n, 'line', counted.line)
                   ORDER BY counted.run_lease, counted.seq, counted.n) AS tail
        FROM (
            -- A line costs what it takes in its array, the separator too, so that empty lines are
            -- not free, and so that the cost of a chunk is the length of its text.
            SELECT chunk.run_lease, chunk.seq, chunk.attempt, each.n, each.line,
                   sum(octet_length(each.line::text) + 2) OVER newest_first AS bytes,
                   row_number() OVER newest_first AS place
            FROM (
                SELECT c.run_lease, c.seq, c.attempt, c.lines,
                       jsonb_array_length(c.lines) AS length,
                       sum(octet_length(c.lines::text)) OVER newer AS newer_bytes,
                       sum(jsonb_array_length(c.lines)) OVER newer AS newer_lines
                FROM (
                    -- Each chunk has a line.
                    SELECT l.run_lease, l.seq, l.attempt, l.lines
                    FROM job_logs AS l
                    WHERE l.job_id = t.job_id
                    ORDER BY l.run_lease DESC, l.seq DESC
                    LIMIT LEAST(256, $22)
                ) AS c
                WINDOW newer AS (ORDER BY c.run_lease DESC, c.seq DESC
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            ) AS chunk
            CROSS JOIN jsonb_array_elements(chunk.lines) WITH ORDINALITY AS each (line, n)
            -- What cannot be among the last is not even sorted.
            WHERE COALESCE(chunk.newer_bytes, 0) < $21
              AND COALESCE(chunk.newer_lines, 0) < $22
              AND each.n > chunk.length - $22
            WINDOW newest_first AS (ORDER BY chunk.run_lease DESC, chunk.seq DESC, each.n DESC)
        ) AS counted
        WHERE counted.bytes <= $21 AND counted.place <= $22
    ) AS log
    WHERE t.state IN ('failed', 'dead')
),
woken AS (
    SELECT pg_notify($19, 'ready:' || q.name)
    FROM queues AS q
    WHERE q.id IN (SELECT queue_id FROM ready_again)
)
SELECT job_id, run_lease, state, (SELECT count(*) FROM woken) AS woken FROM taken
