-- A claim as the client reads it.
CREATE FUNCTION {schema}.record(_claim {schema}.claim) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT json_build_array(
            _claim.holder, (SELECT label FROM {schema}.lease WHERE id = _claim.holder), _claim.serial, _claim.name,
            _claim.mode, _claim.weight, _claim.most, _claim.note, _claim.token));
END $$;

-- Who holds and who waits, each with how long it has stood, what is left of its lease and its priority; the evictions.
CREATE FUNCTION {schema}.look(_name text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'standing', (
                SELECT coalesce(json_agg(json_build_array(
                    {schema}.record(claim), extract(epoch FROM clock_timestamp() - since),
                    extract(epoch FROM expires_at - clock_timestamp()),
                    CASE WHEN token IS NULL THEN -(ticket >> 54) ELSE 0 END) ORDER BY token, ticket), '[]')
                FROM {schema}.claim JOIN {schema}.lease ON id = holder
                WHERE key = hashtextextended(_name, 0) AND name = _name AND expires_at > clock_timestamp()),
            'evictions', (
                SELECT coalesce(json_agg(json_build_array(
                    token, evicted, by, extract(epoch FROM clock_timestamp() - at)) ORDER BY id DESC), '[]')
                FROM {schema}.eviction WHERE name = _name)));
END $$;

-- Take the name from whoever holds it: the claims taken away, on record.
CREATE FUNCTION {schema}.evict(_name text, _by text, _most integer) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    _taken json := '[]';
    _key bigint := hashtextextended(_name, 0);
BEGIN
    PERFORM {schema}.latch(ARRAY[_name]);
    PERFORM {schema}.bury(_name);
    SELECT coalesce(json_agg({schema}.record(claim) ORDER BY token), '[]') INTO _taken
    FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NOT NULL;
    INSERT INTO {schema}.eviction (name, token, holder, evicted, by, at)
    SELECT name, token, holder, label, _by, clock_timestamp() FROM {schema}.claim JOIN {schema}.lease ON id = holder
    WHERE key = _key AND name = _name AND token IS NOT NULL;
    DELETE FROM {schema}.eviction WHERE id <= (SELECT max(id) FROM {schema}.eviction) - _most;
    DELETE FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NOT NULL;
    PERFORM {schema}.promote(ARRAY[_name]);
    RETURN _taken;
END $$;
