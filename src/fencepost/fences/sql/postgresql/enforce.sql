-- For every connection, in any language: SELECT fencepost_claim('orders/42', 7) first, then read and write.
CREATE OR REPLACE FUNCTION {schema}.fencepost_claim(claimed text, shown bigint) RETURNS void
LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS $$
DECLARE
    mark bigint;
    tokens jsonb := coalesce(nullif(current_setting('fencepost.tokens', true), ''), '{{}}');
BEGIN
    -- An equal token updates the row all the same: see claim.sql.
    INSERT INTO fencepost_fence AS fence (name, token) VALUES (claimed, shown)
    ON CONFLICT (name) DO UPDATE SET token = greatest(fence.token, excluded.token)
    RETURNING fence.token INTO mark;
    IF mark > shown THEN
        RAISE EXCEPTION 'fencepost: stale, the mark is %', mark
        USING ERRCODE = 'FP001', DETAIL = format('token %s for ''%s'' is stale', shown, claimed);
    END IF;
    -- What this transaction has shown, for the triggers; gone with the transaction.
    PERFORM set_config('fencepost.tokens', (tokens || jsonb_build_object(claimed, shown))::text, true);
END $$;

CREATE OR REPLACE FUNCTION {schema}.fencepost_require(fenced text) RETURNS void
LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS $$
DECLARE
    shown bigint;
BEGIN
    IF octet_length(fenced) > {most_bytes} THEN
        fenced := 'sha256:' || encode(sha256(convert_to(fenced, 'UTF8')), 'hex');
    END IF;
    shown := nullif(current_setting('fencepost.tokens', true), '')::jsonb ->> fenced;
    IF shown IS NULL THEN
        RAISE EXCEPTION 'fencepost: this transaction has shown no token for ''%''', fenced
        USING ERRCODE = 'FP002', HINT = format('SELECT fencepost_claim(''%s'', token) first', fenced);
    END IF;
    -- Usually this very transaction has claimed, and nobody could come between. The setting alone proves nothing.
    PERFORM FROM fencepost_fence WHERE name = fenced AND token = shown AND xmin = pg_current_xact_id()::xid;
    IF NOT FOUND THEN
        PERFORM fencepost_claim(fenced, shown);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION {schema}.fencepost_check_table() RETURNS trigger
LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS $$
BEGIN
    PERFORM fencepost_require(TG_ARGV[0]);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION {schema}.fencepost_check_row() RETURNS trigger
LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS $$
DECLARE
    before text := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) ->> TG_ARGV[1] END;
    after text := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) ->> TG_ARGV[1] END;
BEGIN
    PERFORM fencepost_require(TG_ARGV[0] || '/' || coalesce(after, before, ''));
    IF before <> after THEN
        PERFORM fencepost_require(TG_ARGV[0] || '/' || before);
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
