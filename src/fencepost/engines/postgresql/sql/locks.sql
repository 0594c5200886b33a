-- Two round trips for a lock with its token: the token is drawn once the lock is had, in the same statement.

-- name: take exclusive
SELECT CASE WHEN pg_advisory_lock(hashtextextended($1, 0)) IS NULL THEN NULL
       ELSE nextval('{schema}.token'::regclass) END,
       pg_try_advisory_lock_shared(hashtext($1), (currval('{schema}.token'::regclass) & 2147483647)::integer)

-- name: take shared
SELECT CASE WHEN pg_advisory_lock_shared(hashtextextended($1, 0)) IS NULL THEN NULL
       ELSE nextval('{schema}.token'::regclass) END,
       pg_try_advisory_lock_shared(hashtext($1), (currval('{schema}.token'::regclass) & 2147483647)::integer)

-- name: try exclusive
SELECT token, CASE WHEN token IS NOT NULL THEN
    pg_try_advisory_lock_shared(hashtext($1), (token & 2147483647)::integer) END FROM (
    SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 0))
           THEN nextval('{schema}.token') END AS token OFFSET 0) AS taken

-- name: try shared
SELECT token, CASE WHEN token IS NOT NULL THEN
    pg_try_advisory_lock_shared(hashtext($1), (token & 2147483647)::integer) END FROM (
    SELECT CASE WHEN pg_try_advisory_lock_shared(hashtextextended($1, 0))
           THEN nextval('{schema}.token') END AS token OFFSET 0) AS taken

-- name: release exclusive
SELECT pg_advisory_unlock(hashtextextended($1, 0)),
       pg_advisory_unlock_shared(hashtext($1), ($2::bigint & 2147483647)::integer)

-- name: release shared
SELECT pg_advisory_unlock_shared(hashtextextended($1, 0)),
       pg_advisory_unlock_shared(hashtext($1), ($2::bigint & 2147483647)::integer)

-- name: disown
-- The locks on tokens that an attempt took whose answer was not heard. Another name may have the same hash: not its own.
SELECT count(pg_advisory_unlock_shared(hashtext($1), token::integer))
FROM (SELECT objid::bigint AS token FROM pg_locks
      WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = (hashtext($1)::bigint & 4294967295)::oid) AS own
WHERE token <> ALL (SELECT unnest($2::bigint[]) & 2147483647)

-- name: share
SELECT CASE WHEN bool_or(mode = 'ExclusiveLock')
       THEN CASE WHEN pg_advisory_lock_shared(hashtextextended($1, 0)) IS NOT NULL
            THEN pg_advisory_unlock(hashtextextended($1, 0)) END
       ELSE count(*) > 0 END
FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = ((hashtextextended($1, 0) >> 32) & 4294967295)::oid
  AND objid = (hashtextextended($1, 0) & 4294967295)::oid

-- name: release all
SELECT pg_advisory_unlock_all()

-- name: sit
SELECT {schema}.sit($1, $2, $3)

-- name: keep
SELECT {schema}.keep($1, $2, $3)

-- name: stay
SELECT 1

-- name: cancel
SELECT pg_cancel_backend($1)

-- name: locks
SELECT pid, granted, shared, holder, label, ttl, note, token, waited, idle FROM {schema}.locks($1)

-- name: evictions
SELECT token, evicted, by, extract(epoch FROM clock_timestamp() - at)
FROM {schema}.eviction WHERE name = $1 ORDER BY id DESC

-- name: evicted
SELECT by FROM {schema}.eviction WHERE token = $1

-- name: names
SELECT DISTINCT name FROM {schema}.holding JOIN pg_locks ON holding.pid = pg_locks.pid
WHERE locktype = 'advisory' AND objsubid = 1 AND starts_with(name, $1)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = ((hashtextextended(name, 0) >> 32) & 4294967295)::oid
  AND objid = (hashtextextended(name, 0) & 4294967295)::oid

-- name: expel
SELECT {schema}.expel($1, $2, $3, $4, $5, $6)

-- name: see off
SELECT {schema}.see_off($1, $2, $3)

-- name: throw out
SELECT pg_terminate_backend($2, 5000) WHERE {schema}.has($1, $2)
