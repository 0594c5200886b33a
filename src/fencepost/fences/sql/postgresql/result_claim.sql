-- What is never to be forgotten stays so: a sum with NULL is NULL.
INSERT INTO fencepost_result AS kept (name, token, forget_at) VALUES (:name, :token, {now} + :memory)
ON CONFLICT (name) DO UPDATE SET
    token = greatest(kept.token, excluded.token),
    forget_at = kept.forget_at + greatest(0, excluded.forget_at - kept.forget_at)
