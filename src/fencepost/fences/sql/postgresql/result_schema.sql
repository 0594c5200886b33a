CREATE TABLE IF NOT EXISTS fencepost_result (
    name text PRIMARY KEY,
    token bigint NOT NULL,
    value text,
    expires_at double precision,
    forget_at double precision
)
