-- A table with its partitions and children, and theirs; whether a trigger of its parent is cloned to it; whether it
-- stands alone, and has no partitions to come.
WITH RECURSIVE tree AS (
    SELECT to_regclass(%(table)s)::oid AS member, false AS cloned
    UNION
    SELECT inhrelid, relispartition FROM tree JOIN pg_inherits ON inhparent = member JOIN pg_class ON oid = inhrelid
)
SELECT member::regclass::text, cloned,
    relkind <> 'p' AND NOT EXISTS (SELECT FROM pg_inherits WHERE member IN (inhrelid, inhparent))
FROM tree JOIN pg_class ON oid = member ORDER BY cloned, 1
