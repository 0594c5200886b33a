-- Each table with a trigger of its own, and those of its tree that can be written past it.
WITH RECURSIVE tree AS (
    SELECT tgrelid AS fenced, tgargs AS arguments, tgrelid AS member
    FROM pg_trigger WHERE tgname = 'fencepost_fence' AND tgparentid = 0
    UNION
    SELECT fenced, arguments, inhrelid FROM tree JOIN pg_inherits ON inhparent = member
), working AS (
    SELECT tgrelid AS member, tgname AS name, tgargs AS arguments, (tgtype & 1) <> 0 AS by_row, (tgtype & 2) <> 0 AS before
    FROM pg_trigger WHERE tgname IN ('fencepost_fence', 'fencepost_fence_truncate') AND tgenabled IN ('O', 'A')
), checked AS (
    SELECT fenced, arguments, member,
        EXISTS (
            SELECT FROM working WHERE (working.member, working.arguments) = (tree.member, tree.arguments)
            AND name = 'fencepost_fence'
            -- A statement names one table of a tree and writes to others; a key may change after a check before it.
            AND CASE
                WHEN by_row THEN NOT before
                -- A trigger for statements does not come to partitions that are made later.
                ELSE (SELECT relkind <> 'p' FROM pg_class WHERE oid = tree.member)
                    AND NOT EXISTS (SELECT FROM pg_inherits WHERE tree.member IN (inhrelid, inhparent))
            END
        ) AND EXISTS (
            SELECT FROM working WHERE (working.member, working.arguments) = (tree.member, tree.arguments)
            AND name = 'fencepost_fence_truncate'
        ) AS guarded
    FROM tree
)
SELECT fenced::regclass::text, arguments,
    array_remove(array_agg(CASE WHEN NOT guarded THEN member::regclass::text END ORDER BY member::regclass::text), NULL)
FROM checked GROUP BY fenced, arguments ORDER BY 1
