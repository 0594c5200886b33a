-- Small values that change one step at a time. Versions come from the sequence of tokens, so that they grow for ever.
CREATE TABLE {schema}.cell (
    key     text PRIMARY KEY,
    value   text NOT NULL,
    version bigint NOT NULL
);

-- Who wants to be told of the next change of a cell, and until when.
CREATE UNLOGGED TABLE {schema}.watcher (
    key     text NOT NULL,
    channel text NOT NULL,
    number  bigint NOT NULL,
    until   timestamptz NOT NULL
);
CREATE INDEX watcher_of_cell ON {schema}.watcher (key);

-- Rate limits: until when what was taken keeps each busy.
CREATE UNLOGGED TABLE {schema}.meter (
    key        text PRIMARY KEY,
    busy_until timestamptz NOT NULL
);
CREATE INDEX idle_meter ON {schema}.meter (busy_until);

-- The version after the change, 0 once emptied; NULL if it is another than was seen.
CREATE FUNCTION {schema}.cell_write(_key text, _value text, _version bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _after bigint := 0;
BEGIN
    PERFORM {schema}.check_isolation();
    PERFORM pg_advisory_xact_lock(1717923428, hashtext('{schema}.' || _key));
    IF coalesce((SELECT version FROM {schema}.cell WHERE key = _key), 0) <> _version THEN
        RETURN NULL;
    END IF;
    IF _value IS NULL THEN
        DELETE FROM {schema}.cell WHERE key = _key;
    ELSE
        _after := {schema}.mint();
        INSERT INTO {schema}.cell VALUES (_key, _value, _after)
        ON CONFLICT (key) DO UPDATE SET value = _value, version = _after;
    END IF;
    WITH told AS (DELETE FROM {schema}.watcher WHERE key = _key RETURNING channel, number)
    SELECT count(pg_notify(channel, '=:' || number || ':')) INTO _version FROM told;
    RETURN _after;
END $$;

-- The cell as JSON, or NULL. If its version is the one that is known, the next change is told to the channel.
CREATE FUNCTION {schema}.cell_watch(
    _key text, _version bigint, _channel text, _number bigint, _seconds double precision
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    _cell {schema}.cell;
BEGIN
    PERFORM {schema}.check_isolation();
    PERFORM pg_advisory_xact_lock(1717923428, hashtext('{schema}.' || _key));
    SELECT * INTO _cell FROM {schema}.cell WHERE key = _key;
    IF coalesce(_cell.version, 0) = _version THEN
        DELETE FROM {schema}.watcher
        WHERE key = _key AND (until < clock_timestamp() OR (channel = _channel AND number = _number));
        INSERT INTO {schema}.watcher
        VALUES (_key, _channel, _number, clock_timestamp() + make_interval(secs => _seconds));
    END IF;
    RETURN CASE WHEN _cell.key IS NOT NULL THEN json_build_array(_cell.value, _cell.version) END;
END $$;

-- How many seconds to wait, and then nothing was counted; 0 if it was. See core/rate.py for what this computes.
CREATE FUNCTION {schema}.meter_take(_key text, _interval double precision, _burst integer, _weight integer)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    _now timestamptz;
    _busy timestamptz;
    _wait double precision;
    _most timestamptz;
BEGIN
    PERFORM {schema}.check_isolation();
    PERFORM pg_advisory_xact_lock(1717923429, hashtext('{schema}.' || _key));
    _now := clock_timestamp();
    -- No take keeps it busy for longer: what is beyond that was counted before the clock was set back, and holds nobody up.
    _most := _now + make_interval(secs => _burst * _interval);
    UPDATE {schema}.meter SET busy_until = _most WHERE key = _key AND busy_until > _most;
    _busy := greatest((SELECT busy_until FROM {schema}.meter WHERE key = _key), _now)
        + make_interval(secs => _weight * _interval);
    _wait := extract(epoch FROM _busy - _now) - _burst * _interval;
    -- Less than what a timestamp can tell apart is a rounding error, not a time to wait.
    IF _wait > 0.000002 THEN
        RETURN _wait;
    END IF;
    INSERT INTO {schema}.meter VALUES (_key, _busy) ON CONFLICT (key) DO UPDATE SET busy_until = _busy;
    -- A few of those that are idle, so that names used once do not pile up.
    DELETE FROM {schema}.meter WHERE key IN (
        SELECT key FROM {schema}.meter WHERE busy_until < _now ORDER BY busy_until LIMIT 4 FOR UPDATE SKIP LOCKED);
    RETURN 0;
END $$;
