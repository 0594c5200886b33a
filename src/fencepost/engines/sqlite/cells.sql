-- Values outlive a reboot, so they are in a file of their own: that of the locks does not.
CREATE TABLE IF NOT EXISTS cell (
    key     TEXT PRIMARY KEY,
    value   TEXT NOT NULL,
    version INTEGER NOT NULL
) WITHOUT ROWID;

-- One row: the version of the last change of any cell, also of those that are empty again. A new file begins with
-- the clock: what was read of a file that was deleted is no version of it.
CREATE TABLE IF NOT EXISTS change (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
);
INSERT OR IGNORE INTO change VALUES (1, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));

-- Who wants to be told of the next change of a cell, and where.
CREATE TABLE IF NOT EXISTS watcher (
    key     TEXT NOT NULL,
    mailbox TEXT NOT NULL,
    PRIMARY KEY (key, mailbox)
) WITHOUT ROWID;
