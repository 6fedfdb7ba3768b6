-- Gives the leadership back, so that the next leader need not wait until it expires.
--
-- $1  worker
UPDATE leader
SET worker_id = NULL, acquired_at = NULL, expires_at = NULL
WHERE worker_id = $1
