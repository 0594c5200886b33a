-- An expression has no declared type, so a converter the user registered for INTEGER stays out of it.
SELECT coalesce(max(token), 0) FROM main.fencepost_fence WHERE name = :name
