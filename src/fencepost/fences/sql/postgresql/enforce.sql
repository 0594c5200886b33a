CREATE OR REPLACE FUNCTION {schema}.fencepost_require(fenced text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    shown bigint;
BEGIN
    IF octet_length(convert_to(fenced, 'UTF8')) > {most_bytes} THEN
        fenced := 'sha256:' || encode(sha256(convert_to(fenced, 'UTF8')), 'hex');
    END IF;
    shown := nullif(current_setting('fencepost.tokens', true), '')::jsonb ->> fenced;
    IF shown IS NULL THEN
        RAISE EXCEPTION 'fencepost: this transaction has shown no token for ''%''', fenced
        USING ERRCODE = 'FP002', HINT = format('SELECT fencepost_claim(''%s'', token) first', fenced);
    END IF;
    -- Usually this very transaction has claimed, and nobody could come between. The setting alone proves nothing.
    PERFORM FROM {schema}.fencepost_fence
    WHERE name = fenced AND token = shown AND xmin = pg_current_xact_id()::xid;
    IF NOT FOUND THEN
        PERFORM {schema}.fencepost_claim(fenced, shown);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION {schema}.fencepost_check_table() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM {schema}.fencepost_require(TG_ARGV[0]);
    RETURN NULL;
END $$;

-- Behind the write, where the key is what it came to: generated columns and others' triggers have had their say.
CREATE OR REPLACE FUNCTION {schema}.fencepost_check_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text := CASE WHEN TG_OP <> 'INSERT' THEN coalesce(to_jsonb(OLD) ->> TG_ARGV[1], '') END;
    after text := CASE WHEN TG_OP <> 'DELETE' THEN coalesce(to_jsonb(NEW) ->> TG_ARGV[1], '') END;
BEGIN
    PERFORM {schema}.fencepost_require(TG_ARGV[0] || '/' || coalesce(after, before));
    IF before <> after THEN
        PERFORM {schema}.fencepost_require(TG_ARGV[0] || '/' || before);
    END IF;
    -- It matters only before a write, where fencepost 0.1.0 has put it: there NULL would drop the row.
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
