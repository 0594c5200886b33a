CREATE TABLE IF NOT EXISTS fencepost_event (
    stream text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (stream, version)
)
