-- After a crash or a fail-over some of the last tokens may be forgotten: step over more than there can have been. After
-- any other start the files may be an old copy: step on by the time since the start before, or up to the clock. Either counts
-- faster than tokens, so another start from the same files steps further than any token since this one. With the rights
-- of the owner, and forward only: nobody else needs the right to set the sequence, which could set it back.
CREATE FUNCTION {schema}.awaken() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE {schema}.life IN EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM {schema}.life WHERE one AND started = pg_postmaster_start_time()) THEN
        PERFORM setval('{schema}.token', greatest(
            (SELECT last_value FROM {schema}.token) + coalesce(
                (SELECT greatest(0, extract(epoch FROM clock_timestamp() - started) * 1000000)::bigint
                FROM {schema}.life WHERE one),
                4294967296),
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
        INSERT INTO {schema}.life VALUES (true, pg_postmaster_start_time())
        ON CONFLICT (one) DO UPDATE SET started = excluded.started;
    END IF;
END $$;

CREATE FUNCTION {schema}.mint() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.life WHERE one AND started = pg_postmaster_start_time()) THEN
        PERFORM {schema}.awaken();
    END IF;
    RETURN nextval('{schema}.token');
END $$;
