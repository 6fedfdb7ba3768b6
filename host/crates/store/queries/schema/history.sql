-- What was applied, in order. A few rows, read whole.
SELECT version, name, checksum FROM schema_migrations ORDER BY version
