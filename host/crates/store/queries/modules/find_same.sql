-- The version of a module that a publish would repeat, or clash with.
--
-- $1  module
-- $2  version name, or NULL when it is to be counted up
-- $3  digest
-- $4  manifest
-- $5  settled options of the kinds, as an object by name
--
-- With a name: the version of that name. Without: the newest version that is the same in all.
SELECT v.id, v.name, v.deleted_at IS NOT NULL AS deleted,
       v.digest = $3 AND v.manifest = $4 AND settled.kinds = $5 AS matches
FROM module_versions AS v
CROSS JOIN LATERAL (
    SELECT COALESCE(jsonb_object_agg(k.name, k.settings), '{}') AS kinds
    FROM kinds AS k
    WHERE k.version_id = v.id
) AS settled
WHERE v.module_id = $1
  AND CASE WHEN $2::text IS NULL
           THEN v.deleted_at IS NULL
                AND v.digest = $3 AND v.manifest = $4 AND settled.kinds = $5
           ELSE v.name = $2
      END
ORDER BY v.created_at DESC, v.id DESC
LIMIT 1
