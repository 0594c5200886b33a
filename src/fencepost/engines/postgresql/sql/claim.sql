-- The two frequent cases: one name, wanted alone, and nobody there: its token as text. Or the last in line, or the only
-- one to hold it, is alive, and we may wait: a place behind. In all others what `enter` answers.
CREATE FUNCTION {schema}.claim(
    _holder text, _serial bigint, _name text, _note text, _wait boolean, _epoch bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _key bigint := hashtextextended(_name, 0);
    _done boolean;
    _ticket bigint;
    _token bigint;
    _mode text;
    _until timestamptz;
BEGIN
    _done := pg_advisory_xact_lock(1717923427, hashtext('{schema}.' || _name)) IS NOT NULL;
    SELECT last.ticket, last.token, last.mode, theirs.expires_at INTO _ticket, _token, _mode, _until
    FROM {schema}.life CROSS JOIN {schema}.lease AS mine
    LEFT JOIN LATERAL (
        SELECT ticket, token, mode, holder FROM {schema}.claim
        WHERE key = _key AND name = _name ORDER BY ticket DESC LIMIT 1) AS last ON true
    LEFT JOIN {schema}.lease AS theirs ON theirs.id = last.holder
    WHERE one AND started = pg_postmaster_start_time()
      AND mine.id = _holder AND mine.expires_at > clock_timestamp() AND mine.epoch = _epoch
      AND current_setting('transaction_isolation') = 'read committed';
    IF FOUND AND _ticket IS NULL THEN
        _token := nextval('{schema}.token');
        INSERT INTO {schema}.claim (key, name, ticket, token, holder, serial, part, mode, weight, most, note, since)
        VALUES (_key, _name, _token, _token, _holder, _serial, 0, 'exclusive', 1, 1, _note, clock_timestamp());
        RETURN _token;
    END IF;
    -- Those of low priority, from 2^54 on, come behind us.
    IF _wait AND _until > clock_timestamp()
        AND (_token IS NULL AND _ticket < 18014398509481984 OR _token IS NOT NULL AND _mode = 'exclusive')
    THEN
        INSERT INTO {schema}.claim (key, name, ticket, holder, serial, part, mode, weight, most, note, since)
        SELECT _key, _name, nextval('{schema}.token'), _holder, _serial, 0, 'exclusive', 1, 1, _note, clock_timestamp()
        WHERE NOT EXISTS (SELECT FROM {schema}.claim WHERE holder = _holder AND serial = _serial)
          -- Who holds may have come after one of high priority who waits.
          AND (_token IS NULL OR NOT EXISTS (
              SELECT FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NULL))
        RETURNING ticket INTO _ticket;
        IF FOUND THEN
            -- Whoever loses its place in a crash loses its connection, too, and asks again. Nobody behind it has to wait
            -- for the disk, or for a standby.
            _done := set_config('synchronous_commit', 'off', true) IS NULL;
            RETURN '{"ahead": [], "again": ' || extract(epoch FROM _until - clock_timestamp()) * 1000
                || ', "ticket": ' || _ticket || '}';
        END IF;
    END IF;
    RETURN {schema}.enter(
        _holder, _serial, ARRAY[_name], ARRAY['exclusive'], ARRAY[1], ARRAY[1], ARRAY[_note], _wait, 0, _epoch);
END $$;

-- The full answer to a request, whatever has happened to it: {"tokens": …}; or, with its place in the queue if it waits,
-- {"ahead": …, "again": ms until somebody ahead may be dead, "ticket": its own}; or {"gone": why}; or, if it was asked before
-- the epoch that is now, {"late": the epoch}, and nothing has happened.
CREATE FUNCTION {schema}.enter(
    _holder text, _serial bigint, _names text[], _modes text[], _weights integer[], _limits integer[], _notes text[],
    _wait boolean, _priority integer, _epoch bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _name text;
    _there integer;
    _tokens text;
    _ticket bigint;
    _overtakes boolean;
    _answer json;
    _now bigint;
BEGIN
    PERFORM {schema}.latch(_names);
    SELECT epoch INTO _now FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp();
    IF NOT FOUND THEN
        RETURN '{"gone": "the lease has ended"}';
    ELSIF _now > _epoch THEN
        RETURN '{"late": ' || _now || '}';
    ELSIF _now < _epoch THEN
        PERFORM {schema}.begin_epoch(_holder, _epoch);
    END IF;
    FOREACH _name IN ARRAY _names LOOP
        PERFORM {schema}.bury(_name);
    END LOOP;
    SELECT count(*) INTO _there FROM {schema}.claim WHERE holder = _holder AND serial = _serial;
    IF _there BETWEEN 1 AND cardinality(_names) - 1 THEN
        -- Part of it was evicted before its holder heard of the grant. All or none: it starts again, and whoever waits
        -- for the rest comes first, also one of a lower priority.
        DELETE FROM {schema}.claim WHERE holder = _holder AND serial = _serial;
        PERFORM {schema}.promote(_names);
        _there := 0;
    END IF;
    IF _there = 0 THEN
        _ticket := nextval('{schema}.token') - _priority * 18014398509481984;
        INSERT INTO {schema}.claim (key, name, ticket, holder, serial, part, mode, weight, most, note, since)
        SELECT hashtextextended(ask.name, 0), ask.name, _ticket, _holder, _serial,
               CASE WHEN cardinality(_names) = 1 AND ask.mode = 'exclusive' THEN 0 ELSE ask.part END, ask.mode,
               ask.weight, ask.most, ask.note, clock_timestamp()
        FROM unnest(_names, _modes, _weights, _limits, _notes) WITH ORDINALITY
             AS ask (name, mode, weight, most, note, part);
    END IF;
    PERFORM {schema}.promote(_names);
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
        END LOOP;
        PERFORM {schema}.promote(_names);
    END IF;
    RETURN _answer;
END $$;

-- The first of the waiting watches all who hold; everyone else only the one before, so that one death wakes one.
CREATE FUNCTION {schema}.ahead(_holder text, _serial bigint) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'ahead', coalesce(json_agg({schema}.record(other) ORDER BY mine.part, other.ticket), '[]'),
            -- -infinity: buried by another transaction just now. Servers before 17 do not subtract that.
            'again', greatest(
                0, extract(epoch FROM min(greatest(lease.expires_at, 'epoch')) - clock_timestamp()) * 1000),
            'ticket', (SELECT min(ticket) FROM {schema}.claim WHERE holder = _holder AND serial = _serial))
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

-- From here on nothing that the holder asked before that epoch has an effect. Under the latches of the names that are
-- concerned: what was asked for them has happened before, or finds the new epoch.
CREATE FUNCTION {schema}.begin_epoch(_holder text, _epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.lease SET epoch = _epoch WHERE id = _holder AND epoch < _epoch AND expires_at > '-infinity';
END $$;

CREATE FUNCTION {schema}.withdraw(_holder text, _serial bigint, _names text[], _epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    _left record;
    _found boolean := false;
BEGIN
    PERFORM {schema}.latch(_names);
    PERFORM {schema}.begin_epoch(_holder, _epoch);
    FOR _left IN DELETE FROM {schema}.claim WHERE holder = _holder AND serial = _serial RETURNING * LOOP
        _found := true;
        IF _left.token IS NULL THEN
            PERFORM {schema}.step_up(_left.name, _left.ticket);
        END IF;
    END LOOP;
    IF _found THEN
        PERFORM {schema}.settle(_names);
    END IF;
END $$;

CREATE FUNCTION {schema}.settle(_names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _name text;
BEGIN
    FOREACH _name IN ARRAY _names LOOP
        PERFORM {schema}.bury(_name);
    END LOOP;
    PERFORM {schema}.promote(_names);
END $$;

-- Give back exactly one claim: whether it was held. Whoever waits first holds from here on, and is told.
CREATE FUNCTION {schema}.release(_holder text, _serial bigint, _name text, _token bigint, _epoch bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _key bigint := hashtextextended(_name, 0);
    _done boolean;
    _mode text;
    _now bigint;
    _first bigint;
    _next record;
BEGIN
    _done := pg_advisory_xact_lock(1717923427, hashtext('{schema}.' || _name)) IS NOT NULL;
    DELETE FROM {schema}.claim
    WHERE key = _key AND name = _name AND holder = _holder AND serial = _serial AND token = _token
    RETURNING mode, (SELECT epoch FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp()),
        (SELECT ticket FROM {schema}.claim WHERE key = _key AND name = _name AND token IS NULL ORDER BY ticket LIMIT 1)
    INTO _mode, _now, _first;
    IF _now IS NULL OR _now < _epoch THEN
        _done := {schema}.begin_epoch(_holder, _epoch) IS NULL;
    END IF;
    IF _first IS NULL THEN
        RETURN _now IS NOT NULL;
    END IF;
    -- The frequent case of what `promote` decides: nobody else holds it, and the first in line is alive and wants it alone.
    UPDATE {schema}.claim AS next SET token = nextval('{schema}.token'), since = clock_timestamp()
    FROM {schema}.lease, {schema}.life
    WHERE next.key = _key AND next.ticket = _first AND next.part = 0 AND next.name = _name
      AND _mode = 'exclusive' AND one AND started = pg_postmaster_start_time()
      AND lease.id = next.holder AND lease.expires_at > clock_timestamp()
    RETURNING next.holder, next.serial, lease.channel INTO _next;
    IF NOT FOUND THEN
        PERFORM {schema}.settle(ARRAY[_name]);
    ELSIF _next.channel <> '' THEN
        _done := pg_notify(_next.channel, _next.holder || ':' || _next.serial || ':') IS NULL;
    END IF;
    RETURN _now IS NOT NULL;
END $$;

-- Give back several claims of one request: for each a 1 if it was held, else a 0.
CREATE FUNCTION {schema}.release_all(_holder text, _serial bigint, _names text[], _tokens bigint[], _epoch bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _now bigint;
    _held text;
BEGIN
    PERFORM {schema}.latch(_names);
    SELECT epoch INTO _now FROM {schema}.lease WHERE id = _holder AND expires_at > clock_timestamp();
    IF _now IS NULL OR _now < _epoch THEN
        PERFORM {schema}.begin_epoch(_holder, _epoch);
    END IF;
    WITH gone AS (
        DELETE FROM {schema}.claim USING unnest(_names, _tokens) AS part (name, token)
        WHERE holder = _holder AND serial = _serial AND claim.name = part.name AND claim.token = part.token
        RETURNING claim.name, claim.token)
    SELECT string_agg(CASE WHEN _now IS NOT NULL AND gone.token IS NOT NULL THEN '1' ELSE '0' END, '' ORDER BY place)
    INTO _held
    FROM unnest(_names, _tokens) WITH ORDINALITY AS part (name, token, place) LEFT JOIN gone USING (name, token);
    PERFORM {schema}.settle(ARRAY(
        SELECT each FROM unnest(_names) AS each
        WHERE EXISTS (
            SELECT FROM {schema}.claim WHERE key = hashtextextended(each, 0) AND name = each AND token IS NULL)));
    RETURN _held;
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
