-- What is no token was written by somebody else, stays as it is, and is refused when the mark is read.
INSERT INTO main.fencepost_fence (name, token) VALUES (:name, :token)
ON CONFLICT (name) DO UPDATE SET token = excluded.token
WHERE excluded.token > fencepost_fence.token AND fencepost_fence.token >= 0 AND typeof(fencepost_fence.token) = 'integer'
