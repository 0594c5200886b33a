-- What is never to be forgotten stays so: the greatest of NULL and anything is NULL.
INSERT INTO fencepost_result (name, token, forget_at) VALUES (:name, :token, {now} + :memory)
ON CONFLICT (name) DO UPDATE SET
    token = max(token, excluded.token),
    forget_at = max(forget_at, excluded.forget_at)
