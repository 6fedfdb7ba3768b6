-- Everything about one job but its payload, output and log.
--
-- $1  job id
-- $2  tenant
-- $3  how many errors at most, the latest
--
-- One probe of the primary key of each state table. Dead letters have a copy of their errors,
-- because the attempts leave earlier.
SELECT j.id, m.name AS module, j.kind, q.name AS queue, j.priority, j.created_at, j.options,
       octet_length(j.payload)::bigint AS payload_bytes,
       s.state, s.attempts, s.crashes, s.run_lease,
       COALESCE(s.run_at, j.run_at) AS run_at,
       COALESCE(s.started_at, last.started_at) AS started_at,
       s.finished_at, s.worker_id,
       v.id AS version_id, v.name AS version_name, v.digest,
       k.settings AS kind_settings,
       l.heartbeat_at, l.deadline_at, l.cancel_requested_at, l.progress_percent, l.progress_note,
       e.cause, e.caused_by, octet_length(e.output)::bigint AS output_len,
       COALESCE(d.class, last.class) AS class,
       COALESCE(d.message, last.message) AS message,
       d.reason,
       COALESCE(e.fuel, d.fuel) AS fuel,
       COALESCE(e.cpu_micros, d.cpu_micros) AS cpu_micros,
       COALESCE(e.wall_micros, d.wall_micros) AS wall_micros,
       COALESCE(e.peak_memory_bytes, d.peak_memory_bytes) AS peak_memory_bytes,
       COALESCE(e.log_bytes, d.log_bytes) AS log_bytes,
       COALESCE(e.output_bytes, d.output_bytes) AS output_bytes,
       COALESCE(d.errors, history.errors, '[]') AS errors
FROM jobs AS j
JOIN modules AS m ON m.id = j.module_id
JOIN queues AS q ON q.id = j.queue_id
JOIN job_state AS s ON s.job_id = j.id
LEFT JOIN leases AS l ON l.job_id = j.id
LEFT JOIN ended AS e ON e.job_id = j.id
LEFT JOIN dlq AS d ON d.job_id = j.id
LEFT JOIN module_versions AS v ON v.id = COALESCE(s.version_id, j.version_id)
LEFT JOIN kinds AS k
       ON k.version_id = COALESCE(s.version_id, j.version_id, m.current_version_id)
      AND k.name = j.kind
LEFT JOIN LATERAL (
    SELECT a.started_at, a.class, a.message
    FROM attempts AS a
    WHERE a.job_id = j.id AND a.class IS NOT NULL
    ORDER BY a.run_lease DESC
    LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT jsonb_agg(latest.entry ORDER BY latest.run_lease) AS errors
    FROM (
        SELECT error.run_lease, error.entry
        FROM job_error AS error
        WHERE error.job_id = j.id
        ORDER BY error.run_lease DESC
        LIMIT $3
    ) AS latest
) AS history
WHERE j.id = $1 AND j.tenant_id = $2
