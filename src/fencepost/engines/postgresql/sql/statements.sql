-- name: owners
-- Whether the schema is there, and which of its owners could do more by its functions and tables than by themselves: what
-- they put into them runs with our rights. Asked before anything of it is touched.
SELECT home IS NOT NULL, (
    SELECT pg_catalog.string_agg(DISTINCT pg_catalog.pg_get_userbyid(owner)::text, ', ') FROM (
        SELECT nspowner AS owner FROM pg_catalog.pg_namespace WHERE oid = home
        UNION SELECT proowner FROM pg_catalog.pg_proc WHERE pronamespace = home
        UNION SELECT relowner FROM pg_catalog.pg_class WHERE relnamespace = home) AS owners
    WHERE NOT pg_catalog.pg_has_role(owner, current_user, 'USAGE')
      AND pg_catalog.pg_get_userbyid(owner)::text <> $1)
FROM (SELECT pg_catalog.to_regnamespace('{schema}')::oid AS home) AS schema

-- name: version
-- Unless a pooler is in between, which has given us another pid: then the connection is not ours to set.
SELECT version, pg_catalog.pg_backend_pid(), CASE WHEN pg_catalog.pg_backend_pid() = $1
    THEN pg_catalog.set_config('default_transaction_isolation', 'read committed', false)
      || pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false) END
FROM {schema}.version

-- name: claim
SELECT {schema}.claim($1, $2, $3, $4, $5, $6)

-- name: enter
SELECT {schema}.enter($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: release
SELECT {schema}.release($1, $2, $3, $4, $5)

-- name: release_all
SELECT {schema}.release_all($1, $2, $3, $4, $5)

-- name: share
SELECT {schema}.share($1, $2, $3, $4)

-- name: withdraw
SELECT {schema}.withdraw($1, $2, $3, $4)

-- name: lease_open
SELECT {schema}.lease_open($1, $2, $3, $4, $5)

-- name: lease_renew
SELECT {schema}.lease_renew($1, $2)

-- name: lease_close
SELECT {schema}.lease_close($1)

-- name: look
SELECT {schema}.look($1)

-- name: names
SELECT DISTINCT name FROM {schema}.claim JOIN {schema}.lease ON id = holder
WHERE pg_catalog.starts_with(name, $1) AND expires_at > pg_catalog.clock_timestamp()

-- name: evict
SELECT {schema}.evict($1, $2, $3)

-- name: evicted
SELECT token, by FROM {schema}.eviction WHERE holder = $1

-- name: cell_read
SELECT pg_catalog.json_build_array(value, version) FROM {schema}.cell WHERE key = $1

-- name: cell_write
SELECT {schema}.cell_write($1, $2, $3)

-- name: cell_watch
SELECT {schema}.cell_watch($1, $2, $3, $4, $5)

-- name: tell
SELECT pg_catalog.pg_notify($1, '')

-- name: meter
SELECT {schema}.meter_take($1, $2, $3, $4)
