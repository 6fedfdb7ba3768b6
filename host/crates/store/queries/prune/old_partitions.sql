-- The partitions of a history table that hold nothing but what is too old, oldest first, by their
-- quoted names.
--
-- $1  the table
-- $2  milliseconds to keep
--
-- The upper bound is read from the catalogue, whatever the partition is called. The default
-- partition has none.
SELECT format('%I', old.relname)
FROM (
    SELECT child.relname,
           substring(pg_get_expr(child.relpartbound, child.oid) FROM 'TO \(''([^'']+)''\)')
               ::timestamptz AS until
    FROM pg_inherits AS i
    JOIN pg_class AS child ON child.oid = i.inhrelid
    WHERE i.inhparent = to_regclass($1)
) AS old
WHERE old.until <= now() - $2 * INTERVAL '1 millisecond'
ORDER BY old.until
