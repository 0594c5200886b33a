-- After a crash or a fail-over some of the last tokens may be forgotten: step over more than there can have been. With the
-- rights of the owner, and forward only: nobody else needs the right to set the sequence, which could set it back.
CREATE FUNCTION {schema}.awaken() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE {schema}.life IN EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM {schema}.life WHERE one) THEN
        PERFORM setval('{schema}.token', greatest(
            (SELECT last_value FROM {schema}.token) + 4294967296,
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
        INSERT INTO {schema}.life VALUES (true);
    END IF;
END $$;

CREATE FUNCTION {schema}.mint() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.life WHERE one) THEN
        PERFORM {schema}.awaken();
    END IF;
    RETURN nextval('{schema}.token');
END $$;
