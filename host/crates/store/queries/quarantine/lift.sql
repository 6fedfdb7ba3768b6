-- Lifts the quarantine of a version and forgets the evidence. No row: it was not in quarantine.
--
-- $1  version
WITH forgiven AS (
    DELETE FROM process_deaths WHERE version_id = $1
)
UPDATE module_versions
SET quarantined_at = NULL, quarantine_reason = NULL
WHERE id = $1 AND quarantined_at IS NOT NULL
RETURNING id
