-- The two frequent cases: one name, wanted alone, and nobody there: its token as text. Or somebody holds it who is alive,
-- and we may wait: the last place in the queue. In all others what `enter` answers.
CREATE FUNCTION {schema}.claim(_holder text, _serial bigint, _name text, _note text, _wait boolean) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    _key bigint := hashtextextended(_name, 0);
    _latched boolean;
    _token bigint;
    _ticket bigint;
BEGIN
    _latched := pg_advisory_xact_lock(1717923427, hashtext(_name)) IS NOT NULL;
    INSERT INTO {schema}.claim (key, name, ticket, token, holder, serial, part, mode, weight, most, note, since)
    SELECT _key, _name, number, number, _holder, _serial, 0, 'exclusive', 1, 1, _note, clock_timestamp()
    FROM (
        SELECT nextval('{schema}.token') AS number FROM {schema}.life, {schema}.lease
        WHERE one AND id = _holder AND expires_at > clock_timestamp() AND _serial <> ALL (given_up)
          AND NOT EXISTS (SELECT FROM {schema}.claim WHERE key = _key AND name = _name)
        LIMIT 1
    ) AS grant_
    RETURNING token INTO _token;
    IF FOUND THEN
        RETURN _token;
    END IF;
    IF _wait THEN
        INSERT INTO {schema}.claim (key, name, ticket, holder, serial, part, mode, weight, most, note, since)
        SELECT _key, _name, nextval('{schema}.token'), _holder, _serial, 0, 'exclusive', 1, 1, _note, clock_timestamp()
        FROM {schema}.lease AS mine
        WHERE id = _holder AND expires_at > clock_timestamp() AND _serial <> ALL (given_up)
          AND NOT EXISTS (SELECT FROM {schema}.claim WHERE holder = _holder AND serial = _serial)
          AND NOT EXISTS (SELECT FROM {schema}.claim WHERE key = _key AND ticket >= 18014398509481984 AND token IS NULL)
          AND EXISTS (
              SELECT FROM {schema}.claim AS held JOIN {schema}.lease AS living ON living.id = held.holder
              WHERE held.key = _key AND held.name = _name AND held.token IS NOT NULL
                AND living.expires_at > clock_timestamp())
        RETURNING ticket INTO _ticket;
        IF FOUND THEN
            RETURN {schema}.ahead(_holder, _serial);
        END IF;
    END IF;
    RETURN {schema}.enter(
        _holder, _serial, ARRAY[_name], ARRAY['exclusive'], ARRAY[1], ARRAY[1], ARRAY[_note], _wait, 0);
END $$;

-- The full answer to a request, whatever has happened to it: {"tokens": …}; or, with its place in the queue if it waits,
-- {"ahead": …, "again": ms until somebody ahead may be dead}; or {"gone": why}.
CREATE FUNCTION {schema}.enter(
    _holder text, _serial bigint, _names text[], _modes text[], _weights integer[], _limits integer[], _notes text[],
    _wait boolean, _priority integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _name text;
    _there integer;
    _tokens text;
    _ticket bigint;
    _overtakes boolean;
    _answer json;
BEGIN
    PERFORM {schema}.latch(_names);
    IF NOT EXISTS (
        SELECT FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp() AND _serial <> ALL (given_up)
    ) THEN
        RETURN '{"gone": "the lease has ended"}';
    END IF;
    FOREACH _name IN ARRAY _names LOOP
        PERFORM {schema}.bury(_name);
    END LOOP;
    SELECT count(*) INTO _there FROM {schema}.claim WHERE holder = _holder AND serial = _serial;
    IF _there BETWEEN 1 AND cardinality(_names) - 1 THEN
        -- Part of it was evicted before its holder heard of the grant. All or none: it starts again.
        DELETE FROM {schema}.claim WHERE holder = _holder AND serial = _serial;
        _there := 0;
    END IF;
    IF _there = 0 THEN
        _ticket := nextval('{schema}.token') - _priority * 18014398509481984;
        INSERT INTO {schema}.claim (key, name, ticket, holder, serial, part, mode, weight, most, note, since)
        SELECT hashtextextended(ask.name, 0), ask.name, _ticket, _holder, _serial, ask.part, ask.mode, ask.weight,
               ask.most, ask.note, clock_timestamp()
        FROM unnest(_names, _modes, _weights, _limits, _notes) WITH ORDINALITY
             AS ask (name, mode, weight, most, note, part);
    END IF;
    FOREACH _name IN ARRAY _names LOOP
        PERFORM {schema}.promote(_name);
    END LOOP;
    SELECT string_agg(token::text, ',' ORDER BY part), min(ticket), bool_or(EXISTS (
        SELECT FROM {schema}.claim AS other
        WHERE other.key = mine.key AND other.name = mine.name AND other.token IS NULL AND other.ticket > mine.ticket))
    INTO _tokens, _ticket, _overtakes
    FROM {schema}.claim AS mine WHERE holder = _holder AND serial = _serial;
    IF _overtakes AND _there = 0 AND (_wait OR _tokens IS NOT NULL) THEN
        -- They have us to watch from now on.
        FOREACH _name IN ARRAY _names LOOP
            PERFORM {schema}.step_up(_name, _ticket);
        END LOOP;
    END IF;
    IF _tokens IS NOT NULL THEN
        RETURN '{"tokens": [' || _tokens || ']}';
    END IF;
    _answer := {schema}.ahead(_holder, _serial);
    IF NOT _wait THEN
        DELETE FROM {schema}.claim WHERE holder = _holder AND serial = _serial;
        FOREACH _name IN ARRAY _names LOOP
            PERFORM {schema}.step_up(_name, _ticket);
            PERFORM {schema}.promote(_name);
        END LOOP;
    END IF;
    RETURN _answer;
END $$;

-- The first of the waiting watches all who hold; everyone else only the one before, so that one death wakes one.
CREATE FUNCTION {schema}.ahead(_holder text, _serial bigint) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'ahead', coalesce(json_agg({schema}.record(other) ORDER BY mine.part, other.ticket), '[]'),
            'again', greatest(0, extract(epoch FROM min(lease.expires_at) - clock_timestamp()) * 1000))
        FROM {schema}.claim AS mine
        LEFT JOIN LATERAL (
            SELECT max(ticket) AS ticket FROM {schema}.claim
            WHERE key = mine.key AND name = mine.name AND token IS NULL AND ticket < mine.ticket
        ) AS before ON true
        JOIN {schema}.claim AS other ON other.key = mine.key AND other.name = mine.name
            -- What is said below once more, as a range of the index: so that a long queue is not read as a whole.
            AND other.ticket >= coalesce(before.ticket, -9223372036854775808)
            AND other.ticket <= coalesce(before.ticket, 9223372036854775807)
            AND CASE
            WHEN before.ticket IS NULL THEN other.token IS NOT NULL
            ELSE other.ticket = before.ticket AND other.token IS NULL END
        JOIN {schema}.lease ON lease.id = other.holder
        WHERE mine.holder = _holder AND mine.serial = _serial);
END $$;

CREATE FUNCTION {schema}.withdraw(_holder text, _serial bigint, _names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _left record;
    _found boolean := false;
BEGIN
    PERFORM {schema}.latch(_names);
    FOR _left IN DELETE FROM {schema}.claim WHERE holder = _holder AND serial = _serial RETURNING * LOOP
        _found := true;
        IF _left.token IS NULL THEN
            PERFORM {schema}.step_up(_left.name, _left.ticket);
        END IF;
    END LOOP;
    IF _found THEN
        PERFORM {schema}.settle(_names);
    ELSE
        UPDATE {schema}.lease SET given_up = given_up || _serial
        WHERE id = _holder AND expires_at > '-infinity' AND _serial <> ALL (given_up);
    END IF;
END $$;

CREATE FUNCTION {schema}.settle(_names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _name text;
BEGIN
    FOREACH _name IN ARRAY _names LOOP
        PERFORM {schema}.bury(_name);
        PERFORM {schema}.promote(_name);
    END LOOP;
END $$;

-- The frequent case of what `promote` decides: nobody holds the name, and the first in line is alive and wants it alone.
CREATE FUNCTION {schema}.hand_over(_key bigint, _name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _next record;
    _nothing boolean;
BEGIN
    UPDATE {schema}.claim AS next SET token = nextval('{schema}.token'), since = clock_timestamp()
    FROM {schema}.lease, {schema}.life
    WHERE one AND lease.id = next.holder AND lease.expires_at > clock_timestamp()
      AND next.key = _key AND next.name = _name AND next.token IS NULL AND next.mode = 'exclusive'
      AND next.ticket = (SELECT min(ticket) FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NULL)
      AND NOT EXISTS (SELECT FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NOT NULL)
      AND NOT EXISTS (
          SELECT FROM {schema}.claim AS part
          WHERE part.holder = next.holder AND part.serial = next.serial AND part.name <> _name)
    RETURNING next.holder, next.serial, next.token, lease.channel INTO _next;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF _next.channel <> '' THEN
        _nothing := pg_notify(_next.channel, _next.holder || ':' || _next.serial || ':' || _next.token) IS NULL;
    END IF;
    RETURN true;
END $$;

-- Give back exactly one claim: whether it was held. Whoever waits first holds from here on, and is told.
CREATE FUNCTION {schema}.release(_holder text, _serial bigint, _name text, _token bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    _key bigint := hashtextextended(_name, 0);
    _latched boolean;
    _held boolean;
    _waited_for boolean;
BEGIN
    _latched := pg_advisory_xact_lock(1717923427, hashtext(_name)) IS NOT NULL;
    DELETE FROM {schema}.claim
    WHERE key = _key AND name = _name AND holder = _holder AND serial = _serial AND token = _token
    RETURNING EXISTS (SELECT FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp()),
              EXISTS (SELECT FROM {schema}.claim WHERE key = _key AND token IS NULL) INTO _held, _waited_for;
    IF _waited_for AND NOT {schema}.hand_over(_key, _name) THEN
        PERFORM {schema}.bury(_name);
        PERFORM {schema}.promote(_name);
    END IF;
    RETURN coalesce(_held, false);
END $$;

-- Turn a claim of the whole name into a shared one, with its token: whether it was held. Readers that stand next come in.
CREATE FUNCTION {schema}.share(_holder text, _serial bigint, _name text, _token bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    _held boolean;
BEGIN
    PERFORM {schema}.latch(ARRAY[_name]);
    UPDATE {schema}.claim SET mode = 'shared'
    WHERE key = hashtextextended(_name, 0) AND name = _name AND holder = _holder AND serial = _serial AND token = _token
    RETURNING EXISTS (SELECT FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp()) INTO _held;
    PERFORM {schema}.settle(ARRAY[_name]);
    RETURN coalesce(_held, false);
END $$;
