-- For advisory locks. A connection is a lease: the server ends it when it has been idle for `_ttl` seconds, and with it
-- every lock that it has.
CREATE FUNCTION {schema}.sit(_holder text, _label text, _ttl double precision) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- A server that was started again has no connection from before, so once for each is often enough.
    IF NOT EXISTS (SELECT FROM {schema}.life WHERE one AND started = pg_postmaster_start_time()) THEN
        PERFORM {schema}.awaken();
    END IF;
    DELETE FROM {schema}.connection AS gone WHERE NOT EXISTS (
        SELECT FROM pg_stat_activity AS living
        WHERE living.pid = gone.pid AND coalesce(living.backend_start, gone.started) = gone.started);
    DELETE FROM {schema}.holding AS gone
    WHERE NOT EXISTS (SELECT FROM {schema}.connection AS living WHERE living.pid = gone.pid);
    INSERT INTO {schema}.connection (pid, started, holder, label, ttl)
    SELECT pid, backend_start, _holder, _label, _ttl FROM pg_stat_activity WHERE pid = pg_backend_pid()
    ON CONFLICT (pid) DO UPDATE SET started = excluded.started, holder = excluded.holder, label = excluded.label,
        ttl = excluded.ttl;
    PERFORM set_config('idle_session_timeout', least(ceil(_ttl * 1000), 2147483647)::integer::text, false);
    -- A waiter whose client is gone leaves the queue.
    PERFORM set_config('client_connection_check_interval', '500', false);
    PERFORM set_config('statement_timeout', '0', false);
    PERFORM set_config('lock_timeout', '0', false);
    -- As of PostgreSQL 17: to wait for a lock is a transaction, too.
    IF current_setting('transaction_timeout', true) IS NOT NULL THEN
        PERFORM set_config('transaction_timeout', '0', false);
    END IF;
END $$;

-- Keep the connection, and write down what it holds: locks have numbers, and people want names.
CREATE FUNCTION {schema}.keep(_names text[], _notes text[], _tokens bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM {schema}.holding WHERE pid = pg_backend_pid();
    INSERT INTO {schema}.holding (pid, name, note, token)
    SELECT pg_backend_pid(), name, note, token FROM unnest(_names, _notes, _tokens) AS held (name, note, token);
END $$;

-- Who has the lock of a name, and who waits for it in which order. The token stands beside the lock as another one, in the
-- space of pairs of numbers, by its last 31 bits: enough until it is written down in full, as of the next renewal.
CREATE FUNCTION {schema}.locks(_name text) RETURNS TABLE (
    pid integer, granted boolean, shared boolean, holder text, label text, ttl double precision, note text,
    token bigint, waited double precision, idle double precision
) LANGUAGE sql AS $$
    SELECT lock.pid, lock.granted, lock.mode = 'ShareLock', connection.holder, connection.label, connection.ttl,
           holding.note,
           (SELECT max(CASE WHEN number.objid::bigint = holding.token & 2147483647 THEN holding.token
                       ELSE last - ((last - number.objid::bigint) & 2147483647) END)
            FROM pg_locks AS number, (SELECT last_value AS last FROM {schema}.token) AS sequence
            WHERE lock.granted AND number.pid = lock.pid AND number.locktype = 'advisory' AND number.objsubid = 2
              AND number.database = lock.database
              AND number.classid = (hashtext(_name)::bigint & 4294967295)::oid),
           extract(epoch FROM clock_timestamp() - lock.waitstart),
           extract(epoch FROM clock_timestamp() - activity.state_change)
    FROM pg_locks AS lock
    LEFT JOIN {schema}.connection ON connection.pid = lock.pid
    LEFT JOIN {schema}.holding ON holding.pid = lock.pid AND holding.name = _name
    LEFT JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
    WHERE lock.locktype = 'advisory' AND lock.objsubid = 1
      AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND lock.classid = ((hashtextextended(_name, 0) >> 32) & 4294967295)::oid
      AND lock.objid = (hashtextextended(_name, 0) & 4294967295)::oid
    ORDER BY lock.granted DESC, 8, lock.waitstart;
$$;

-- Put an eviction on record, and tell its holder.
CREATE FUNCTION {schema}.expel(_name text, _token bigint, _holder text, _label text, _by text, _most integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {schema}.eviction (name, token, holder, evicted, by, at)
    VALUES (_name, _token, _holder, _label, _by, clock_timestamp());
    DELETE FROM {schema}.eviction WHERE id <= (SELECT max(id) FROM {schema}.eviction) - _most;
    PERFORM pg_notify('fencepost_' || _holder, _token::text);
END $$;

CREATE FUNCTION {schema}.has(_name text, _pid integer) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM {schema}.locks(_name) AS lock WHERE lock.pid = _pid AND lock.granted);
$$;

-- Wait until a connection has given the lock back: whether it has, in time.
CREATE FUNCTION {schema}.see_off(_name text, _pid integer, _patience double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    _until timestamptz := clock_timestamp() + make_interval(secs => _patience);
BEGIN
    WHILE {schema}.has(_name, _pid) LOOP
        IF clock_timestamp() >= _until THEN
            RETURN false;
        END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RETURN true;
END $$;
