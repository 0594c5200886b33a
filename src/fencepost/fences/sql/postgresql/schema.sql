CREATE TABLE IF NOT EXISTS fencepost_fence (
    name text PRIMARY KEY,
    token bigint NOT NULL
)
