-- Everything about one job but its payload, output and log.
--
-- $1  job id
-- $2  tenant
-- $3  how many errors at most, the latest
--
-- One probe of the primary key of each state table, and each table once: with the partitions,
-- planning costs more than running. Dead letters have a copy of their errors, because the attempts
-- leave earlier.
SELECT j.id, m.name AS module, j.kind, q.name AS queue, j.priority, j.created_at, j.options,
       octet_length(j.payload)::bigint AS payload_bytes,
       s.state, s.attempts, s.crashes, s.run_lease,
       COALESCE(s.run_at, j.run_at) AS run_at,
       COALESCE(s.started_at, history.started_at) AS started_at,
       s.finished_at, s.worker_id,
       v.id AS version_id, v.name AS version_name, v.digest,
       k.settings AS kind_settings,
       s.heartbeat_at, s.deadline_at, s.cancel_requested_at, s.progress_percent, s.progress_note,
       s.cause, s.caused_by, octet_length(s.output)::bigint AS output_len,
       COALESCE(s.class, history.class) AS class,
       COALESCE(s.message, history.message) AS message,
       s.reason,
       s.fuel, s.cpu_micros, s.wall_micros, s.peak_memory_bytes, s.log_bytes, s.output_bytes,
       COALESCE(s.errors, history.errors, '[]') AS errors
FROM jobs AS j
JOIN modules AS m ON m.id = j.module_id
JOIN queues AS q ON q.id = j.queue_id
JOIN job_state AS s ON s.job_id = j.id
LEFT JOIN module_versions AS v ON v.id = COALESCE(s.version_id, j.version_id)
LEFT JOIN kinds AS k
       ON k.version_id = COALESCE(s.version_id, j.version_id, m.current_version_id)
      AND k.name = j.kind
CROSS JOIN LATERAL (
    SELECT jsonb_agg(latest.entry ORDER BY latest.run_lease) AS errors,
           (array_agg(latest.started_at ORDER BY latest.run_lease DESC))[1] AS started_at,
           (array_agg(latest.class ORDER BY latest.run_lease DESC))[1] AS class,
           (array_agg(latest.message ORDER BY latest.run_lease DESC))[1] AS message
    FROM (
        SELECT error.run_lease, error.started_at, error.class, error.message, error.entry
        FROM job_error AS error
        WHERE error.job_id = j.id
        ORDER BY error.run_lease DESC
        LIMIT $3
    ) AS latest
) AS history
WHERE j.id = $1 AND j.tenant_id = $2
