-- Makes a version current, when $3 says so. Returns whether it is.
--
-- $1  module
-- $2  version
-- $3  whether to make it so
UPDATE modules
SET current_version_id = CASE WHEN $3 THEN $2 ELSE current_version_id END
WHERE id = $1
RETURNING COALESCE(current_version_id = $2, false) AS active
