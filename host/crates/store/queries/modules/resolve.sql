-- The version that a reference means, with its kinds. No row: no such module. A row without a
-- version: no such version, or none is current.
--
-- $1  tenant
-- $2  module name
-- $3  version name, or NULL for the current one
--
-- Index: modules_by_name.
SELECT m.id AS module_id, v.id AS version_id, v.name AS version_name, v.digest, v.world,
       COALESCE(offered.kinds, '[]') AS kinds
FROM modules AS m
LEFT JOIN module_versions AS v
       ON v.module_id = m.id
      AND v.deleted_at IS NULL
      AND CASE WHEN $3::text IS NULL THEN v.id = m.current_version_id ELSE v.name = $3 END
CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_array(k.info, k.settings) ORDER BY k.name) AS kinds
    FROM kinds AS k
    WHERE k.version_id = v.id
) AS offered
WHERE m.tenant_id = $1 AND m.name = $2 AND m.deleted_at IS NULL
