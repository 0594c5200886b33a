SELECT coalesce(max(token), 0) FROM fencepost_fence WHERE name = :name
