-- The versions of a module, newest first, each with its kinds.
--
-- $1  module
SELECT v.id, v.name, v.digest, v.size_bytes, v.world, v.imports, v.manifest, v.created_at,
       COALESCE(v.id = m.current_version_id, false) AS active,
       v.quarantined_at, v.quarantine_reason,
       COALESCE(offered.kinds, '[]') AS kinds
FROM module_versions AS v
JOIN modules AS m ON m.id = v.module_id
CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_array(k.info, k.settings) ORDER BY k.name) AS kinds
    FROM kinds AS k
    WHERE k.version_id = v.id
) AS offered
WHERE v.module_id = $1 AND v.deleted_at IS NULL
ORDER BY v.created_at DESC, v.id DESC
