-- Who leads. No row when nobody does, or did not renew it in time.
SELECT worker_id, epoch, acquired_at, expires_at
FROM leader
WHERE expires_at > now()
