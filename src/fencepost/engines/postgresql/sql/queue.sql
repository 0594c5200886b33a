-- Whoever has waited for a latch must see what was done under it meanwhile. A transaction above READ COMMITTED sees what was
-- there when its statement came, and no function can change that: it is called when it is too late.
CREATE FUNCTION {schema}.check_isolation() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'transactions are "%" by default', current_setting('transaction_isolation')
        USING ERRCODE = 'invalid_transaction_initiation';
    END IF;
END $$;

-- Who holds, who waits, who is next. Whoever changes the queue of a name holds the latch of that name to the end of
-- its transaction: an advisory lock of the transaction, so that it is safe behind a pooler. It is of this schema alone.
CREATE FUNCTION {schema}.latch(_names text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM {schema}.check_isolation();
    -- Always in the same order: nobody waits for another in a circle.
    PERFORM pg_advisory_xact_lock(1717923427, each.latch)
    FROM (SELECT DISTINCT hashtext('{schema}.' || name) AS latch FROM unnest(_names) AS name ORDER BY 1) AS each;
END $$;

-- Tell a waiter that it should look again. What it would find is not said: anybody may send messages, so none is believed.
CREATE FUNCTION {schema}.tell(_holder text, _serial bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(channel, _holder || ':' || _serial || ':')
    FROM {schema}.lease WHERE id = _holder AND channel <> '';
END $$;

-- End the leases that have run out of those who stand in a queue, and take them out of it. The row of the lease decides:
-- a renewal that comes after finds nothing to renew. One whose row somebody else has at this moment is left as it is:
-- whoever buries the dead of several queues would wait in a circle with others who do. Who is in its way looks again.
CREATE FUNCTION {schema}.bury(_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _key bigint := hashtextextended(_name, 0);
BEGIN
    UPDATE {schema}.lease SET expires_at = '-infinity' FROM (
        SELECT id FROM {schema}.lease
        WHERE expires_at <= clock_timestamp() AND expires_at > '-infinity'
          AND id IN (SELECT holder FROM {schema}.claim WHERE key = _key AND name = _name)
        FOR UPDATE SKIP LOCKED) AS dead
    WHERE lease.id = dead.id;
    DELETE FROM {schema}.claim
    WHERE key = _key AND name = _name
      AND NOT EXISTS (SELECT FROM {schema}.lease WHERE id = holder AND expires_at > '-infinity');
END $$;

-- Whether an ask may be granted beside those that hold its name now: the rule of core.claim.
CREATE FUNCTION {schema}.admits(_name text, _mode text, _weight integer, _most integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT CASE _mode
            WHEN 'exclusive' THEN count(*) = 0
            WHEN 'shared' THEN coalesce(bool_and(mode = 'shared'), true)
            ELSE coalesce(bool_and(mode = 'counted' AND most = _most), true)
                AND coalesce(sum(weight), 0) + _weight <= _most
        END
        FROM {schema}.claim
        WHERE key = hashtextextended(_name, 0) AND name = _name AND token IS NOT NULL);
END $$;

-- Whether a request may be granted: it is first in all of its queues, and admitted in each.
CREATE FUNCTION {schema}.ripe(_holder text, _serial bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT bool_and(
            {schema}.admits(mine.name, mine.mode, mine.weight, mine.most)
            AND NOT EXISTS (
                SELECT FROM {schema}.claim AS other
                WHERE other.key = mine.key AND other.name = mine.name AND other.token IS NULL
                  AND other.ticket < mine.ticket))
        FROM {schema}.claim AS mine WHERE holder = _holder AND serial = _serial);
END $$;

-- Grant a request that is ripe, and tell it.
CREATE FUNCTION {schema}.give(_holder text, _serial bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _part record;
BEGIN
    FOR _part IN SELECT key, ticket, part FROM {schema}.claim WHERE holder = _holder AND serial = _serial ORDER BY part
    LOOP
        UPDATE {schema}.claim SET token = {schema}.mint(), since = clock_timestamp()
        WHERE key = _part.key AND ticket = _part.ticket AND part = _part.part;
    END LOOP;
    PERFORM {schema}.tell(_holder, _serial);
END $$;

-- Grant a request that is first in a queue whose latch we have, if it is ripe. Where to look for the next: the names
-- that it no longer waits for.
CREATE FUNCTION {schema}.advance(_holder text, _serial bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    _names text[] := ARRAY(SELECT name FROM {schema}.claim WHERE holder = _holder AND serial = _serial);
    _name text;
BEGIN
    IF cardinality(_names) > 1 THEN
        -- To wait for the latch of another name now could be to wait in a circle.
        FOREACH _name IN ARRAY _names LOOP
            IF NOT pg_try_advisory_xact_lock(1717923427, hashtext('{schema}.' || _name)) THEN
                -- Whoever has that latch is not finished. The waiter looks for itself, from the start.
                PERFORM {schema}.tell(_holder, _serial);
                RETURN '{}';
            END IF;
        END LOOP;
        FOREACH _name IN ARRAY _names LOOP
            PERFORM {schema}.bury(_name);
        END LOOP;
    END IF;
    CASE {schema}.ripe(_holder, _serial)
        WHEN true THEN
            PERFORM {schema}.give(_holder, _serial);
        WHEN false THEN
            RETURN '{}';
        ELSE
            -- It was buried just now.
    END CASE;
    RETURN _names;
END $$;

-- Grant what can be granted of the queues of names whose latches we have. Each request that is first somewhere is looked
-- at once, however many of the names it wants.
CREATE FUNCTION {schema}.promote(_names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _first record;
    _moved text[];
BEGIN
    WHILE cardinality(_names) > 0 LOOP
        _moved := '{}';
        FOR _first IN
            SELECT DISTINCT first.ticket, first.holder, first.serial
            FROM unnest(_names) AS each (name) CROSS JOIN LATERAL (
                SELECT ticket, holder, serial FROM {schema}.claim
                WHERE key = hashtextextended(each.name, 0) AND name = each.name AND token IS NULL
                ORDER BY ticket LIMIT 1) AS first
            ORDER BY first.ticket
        LOOP
            _moved := _moved || {schema}.advance(_first.holder, _first.serial);
        END LOOP;
        _names := _moved;
    END LOOP;
END $$;

-- After a place in the queue was left: whoever stood behind it has somebody else to watch now.
CREATE FUNCTION {schema}.step_up(_name text, _ticket bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _behind record;
BEGIN
    SELECT holder, serial INTO _behind FROM {schema}.claim
    WHERE key = hashtextextended(_name, 0) AND name = _name AND token IS NULL AND ticket > _ticket
    ORDER BY ticket LIMIT 1;
    IF FOUND THEN
        PERFORM {schema}.tell(_behind.holder, _behind.serial);
    END IF;
END $$;
