-- Deletes a component's bytes when no version needs them any more. Called with the digest locked.
--
-- $1  digest
--
-- Index: module_versions_by_digest.
DELETE FROM blobs
WHERE digest = $1
  AND NOT EXISTS (
      SELECT FROM module_versions AS v
      WHERE v.digest = $1 AND v.deleted_at IS NULL
  )
