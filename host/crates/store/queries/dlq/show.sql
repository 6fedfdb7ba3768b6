-- A dead letter, whole.
--
-- $1  job id
-- $2  tenant
--
-- The input is read with the job's payload.
SELECT d.job_id, m.name AS module, d.version_name, d.kind, q.name AS queue, d.state, d.reason,
       d.class, d.code, d.message, d.attempts, d.crashes, d.finished_at, j.created_at,
       d.started_at, d.worker_id, d.version_id, d.digest, d.kind_settings, d.run_lease, d.priority,
       d.fuel, d.cpu_micros, d.wall_micros, d.peak_memory_bytes, d.log_bytes, d.output_bytes,
       d.errors, d.log_tail, j.options, octet_length(j.payload)::bigint AS payload_bytes
FROM dlq AS d
JOIN jobs AS j ON j.id = d.job_id
JOIN modules AS m ON m.id = d.module_id
JOIN queues AS q ON q.id = d.queue_id
WHERE d.job_id = $1 AND d.tenant_id = $2
