-- What the sweeps did, by name.
SELECT name, worker_id, epoch, last_run_at, last_micros, last_rows, error, last_error,
       last_error_at, runs, rows, failures, recovery, recovery_ms
FROM sweeps
ORDER BY name
