-- Ends attempts that ended well. Returns the leases that were still held; the rest were stale.
--
-- $1       worker
-- $2, $3   job id and run_lease of each
-- $4       output
-- $5..$10  fuel, CPU and wall microseconds, peak memory, log and output bytes
-- $11      code and $12 message of an attempt that ended well after its job had been cancelled
--
-- Index: the primary key of `leases`. A cancel that was asked for wins over the output.
WITH given AS (
    SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[],
                         $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
             AS g (job_id, run_lease, output, fuel, cpu_micros, wall_micros, peak_memory_bytes,
                   log_bytes, output_bytes)
),
taken AS (
    DELETE FROM leases AS l
    USING given AS g
    WHERE l.job_id = g.job_id AND l.run_lease = g.run_lease AND l.worker_id = $1
    RETURNING l.job_id, l.tenant_id, l.queue_id, l.priority, l.run_lease, l.attempts, l.crashes,
              l.worker_id, l.version_id, l.claimed_at, l.cancel_cause,
              CASE WHEN l.cancel_cause IS NULL THEN 'completed' ELSE 'cancelled' END AS state,
              g.output, g.fuel, g.cpu_micros, g.wall_micros, g.peak_memory_bytes, g.log_bytes,
              g.output_bytes
),
ended_now AS (
    INSERT INTO ended (job_id, tenant_id, queue_id, priority, state, cause, finished_at, started_at,
                       worker_id, version_id, run_lease, attempts, crashes, fuel, cpu_micros,
                       wall_micros, peak_memory_bytes, log_bytes, output_bytes, output)
    SELECT job_id, tenant_id, queue_id, priority, state, cancel_cause, now(), claimed_at,
           worker_id, version_id, run_lease,
           attempts, crashes, fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes,
           output_bytes,
           CASE WHEN cancel_cause IS NULL THEN output END
    FROM taken
),
-- Most jobs succeed at once, and leave no row here.
recorded AS (
    INSERT INTO attempts (job_id, tenant_id, run_lease, attempt, worker_id, version_id, started_at,
                          ended_at, class, code, message, backtrace, fuel, cpu_micros, wall_micros,
                          peak_memory_bytes, log_bytes, output_bytes)
    SELECT job_id, tenant_id, run_lease, attempts + 1, worker_id, version_id, claimed_at,
           now(),
           CASE WHEN cancel_cause IS NOT NULL THEN 'cancelled' END,
           CASE WHEN cancel_cause IS NOT NULL THEN $11::text END,
           CASE WHEN cancel_cause IS NOT NULL THEN $12::text END,
           CASE WHEN cancel_cause IS NOT NULL THEN '' END,
           fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes, output_bytes
    FROM taken
    WHERE run_lease > 1 OR cancel_cause IS NOT NULL
),
forgotten AS (
    DELETE FROM checkpoints AS c
    USING taken
    WHERE c.job_id = taken.job_id
)
SELECT job_id, run_lease, state FROM taken
