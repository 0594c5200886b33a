-- For every connection, in any language: SELECT fencepost_claim('orders/42', 7) first, then read and write.
-- A function keeps its plan; a statement with its values inside would be planned each time, at thrice the cost.
-- A stale token must fail, so that what was sent behind it in the same round trip does not happen.
-- No per cent sign: some drivers would take it for a parameter.
CREATE OR REPLACE FUNCTION {schema}.fencepost_claim(claimed text, shown bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    mark bigint;
    tokens text := nullif(current_setting('fencepost.tokens', true), '');
BEGIN
    -- No index takes long names: every fence calls them by a digest.
    IF octet_length(convert_to(claimed, 'UTF8')) > {most_bytes} THEN
        claimed := 'sha256:' || encode(sha256(convert_to(claimed, 'UTF8')), 'hex');
    END IF;
    -- An equal token updates the row all the same: who waits for it under REPEATABLE READ has a snapshot from
    -- before this transaction's writes, and is failed only by a row that changed.
    INSERT INTO {schema}.fencepost_fence AS fence (name, token) VALUES (claimed, shown)
    ON CONFLICT (name) DO UPDATE SET token = greatest(fence.token, excluded.token)
    RETURNING fence.token INTO mark;
    IF mark > shown THEN
        RAISE EXCEPTION USING ERRCODE = 'FP001', MESSAGE = 'fencepost: stale, the mark is ' || mark,
            DETAIL = 'token ' || shown || ' for "' || claimed || '" is stale';
    END IF;
    -- What this transaction has shown, for triggers that ask; gone with the transaction.
    PERFORM set_config('fencepost.tokens',
        (coalesce(tokens, '{}')::jsonb || jsonb_build_object(claimed, shown))::text, true);
END $$
