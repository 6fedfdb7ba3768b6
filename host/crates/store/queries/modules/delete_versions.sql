-- Marks one version of a module as deleted, or all of them.
--
-- $1  module
-- $2  the version, or NULL for all
--
-- Returns the digests whose bytes may now be needed by nobody.
WITH not_current AS (
    UPDATE modules
    SET current_version_id = NULL
    WHERE id = $1 AND ($2::uuid IS NULL OR current_version_id = $2)
)
UPDATE module_versions
SET deleted_at = now()
WHERE module_id = $1 AND ($2::uuid IS NULL OR id = $2) AND deleted_at IS NULL
RETURNING digest
