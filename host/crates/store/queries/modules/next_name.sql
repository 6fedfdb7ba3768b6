-- The next number for a version without a name. Called with the module locked.
--
-- $1  module
SELECT (COALESCE(max(name::bigint), 0) + 1)::text
FROM module_versions
WHERE module_id = $1 AND name ~ '^[0-9]{1,18}$'
