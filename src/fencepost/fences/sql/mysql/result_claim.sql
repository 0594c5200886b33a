-- What is never to be forgotten stays so: the greatest of NULL and anything is NULL.
INSERT INTO fencepost_result (name, token, forget_at) VALUES (:name, :token, {now} + :memory)
ON DUPLICATE KEY UPDATE
    token = greatest(token, VALUES(token)),
    forget_at = greatest(forget_at, VALUES(forget_at))
