CREATE FUNCTION {schema}.lease_open(_holder text, _label text, _ttl double precision, _channel text, _epoch bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM {schema}.check_isolation();
    -- What the dead left behind where nobody came by since. A minute, so that nothing of theirs is still on its way.
    WITH dead AS (
        DELETE FROM {schema}.lease WHERE id IN (
            SELECT id FROM {schema}.lease WHERE expires_at < clock_timestamp() - interval '1 minute'
            LIMIT 100 FOR UPDATE SKIP LOCKED)
        RETURNING id
    )
    DELETE FROM {schema}.claim USING dead WHERE holder = dead.id;
    INSERT INTO {schema}.lease (id, label, expires_at, channel, epoch)
    VALUES (_holder, _label, clock_timestamp() + make_interval(secs => _ttl), _channel, _epoch)
    ON CONFLICT (id) DO NOTHING;
END $$;

-- One row for everything the holder has, however much that is: the tokens of what it holds, or NULL if its lease ended.
CREATE FUNCTION {schema}.lease_renew(_holder text, _ttl double precision) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.lease SET expires_at = clock_timestamp() + make_interval(secs => _ttl)
    WHERE id = _holder AND expires_at > clock_timestamp();
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT coalesce(string_agg(token::text, ','), '') FROM {schema}.claim
            WHERE holder = _holder AND token IS NOT NULL);
END $$;

-- Give back everything, a few hundred names at a time: each needs its latch. Whether there is more.
CREATE FUNCTION {schema}.lease_close(_holder text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _names text[];
    _left record;
BEGIN
    _names := ARRAY(SELECT DISTINCT name FROM {schema}.claim WHERE holder = _holder LIMIT 500);
    PERFORM {schema}.latch(_names);
    -- After the latches, as everywhere: whoever buries has one and wants the row of the lease.
    UPDATE {schema}.lease SET expires_at = '-infinity' WHERE id = _holder;
    FOR _left IN DELETE FROM {schema}.claim WHERE holder = _holder AND name = ANY (_names) RETURNING * LOOP
        IF _left.token IS NULL THEN
            PERFORM {schema}.step_up(_left.name, _left.ticket);
        END IF;
    END LOOP;
    PERFORM {schema}.settle(_names);
    RETURN EXISTS (SELECT FROM {schema}.claim WHERE holder = _holder);
END $$;
