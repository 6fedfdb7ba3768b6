-- Gives an attempt more time, and says how much it has now, in milliseconds. No row: lease lost.
--
-- $1, $2  job id and run_lease
-- $3      milliseconds to add
-- $4      longest deadline in milliseconds, counted from the claim
--
-- Never shortens: a cap that was lowered meanwhile takes nothing away.
UPDATE leases
SET deadline_at = GREATEST(deadline_at, LEAST(
        deadline_at + $3 * INTERVAL '1 millisecond',
        claimed_at + $4 * INTERVAL '1 millisecond'))
WHERE job_id = $1 AND run_lease = $2
RETURNING GREATEST(0, (EXTRACT(EPOCH FROM deadline_at - now()) * 1000)::bigint) AS remaining_ms
