-- The mark comes back as the "last inserted id" of this one statement.
INSERT INTO fencepost_fence (name, token) VALUES (:name, last_insert_id(:token))
ON DUPLICATE KEY UPDATE token = last_insert_id(greatest(token, VALUES(token)))
