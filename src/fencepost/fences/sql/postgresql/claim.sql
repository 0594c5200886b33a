-- A stale token must fail the statement, so that what was sent behind it in the same round trip does not happen.
-- No function is needed for that: the text that is no number carries the mark back in the error's message.
-- An equal token updates the row all the same: who waits for it under REPEATABLE READ has a snapshot from before
-- this transaction's writes, and is failed only by a row that changed.
INSERT INTO fencepost_fence AS mark (name, token) VALUES (:name, :token)
ON CONFLICT (name) DO UPDATE SET token = CASE
    WHEN excluded.token >= mark.token THEN excluded.token
    ELSE CAST('fencepost: stale, the mark is ' || mark.token AS bigint)
END
