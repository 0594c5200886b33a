CREATE TABLE IF NOT EXISTS fencepost_event (
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (stream, version)
) WITHOUT ROWID
