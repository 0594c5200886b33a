-- A claim that raises nothing: what a roll-back has undone is shown again, and somebody newer may stand there already.
INSERT INTO fencepost_fence AS fence (name, token) VALUES (:name, :token)
ON CONFLICT (name) DO UPDATE SET token = greatest(fence.token, excluded.token)
