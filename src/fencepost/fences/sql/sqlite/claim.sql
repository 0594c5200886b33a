INSERT INTO main.fencepost_fence (name, token) VALUES (:name, :token)
ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE excluded.token > fencepost_fence.token
