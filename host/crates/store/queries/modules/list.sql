-- A page of a tenant's modules by name.
--
-- $1  tenant
-- $2  the last name of the page before; NULL for the first page
-- $3  how many at most
--
-- Index: modules_by_name.
SELECT m.id, m.name, m.created_at, current.name AS current, current.quarantined_at,
       (
           SELECT count(*) FROM module_versions AS v
           WHERE v.module_id = m.id AND v.deleted_at IS NULL
       ) AS versions,
       ARRAY(
           SELECT k.name FROM kinds AS k WHERE k.version_id = m.current_version_id ORDER BY k.name
       ) AS kinds
FROM modules AS m
LEFT JOIN module_versions AS current ON current.id = m.current_version_id
WHERE m.tenant_id = $1
  AND m.deleted_at IS NULL
  AND ($2::text IS NULL OR m.name > $2)
ORDER BY m.name
LIMIT $3
