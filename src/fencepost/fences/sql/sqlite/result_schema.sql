CREATE TABLE IF NOT EXISTS fencepost_result (
    name TEXT PRIMARY KEY NOT NULL,
    token INTEGER NOT NULL,
    value TEXT,
    expires_at REAL,
    forget_at REAL
) WITHOUT ROWID
