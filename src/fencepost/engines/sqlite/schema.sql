-- One row per lease. `expires_at` is on the host's clock that counts from boot; the process is known by
-- more than its pid, because pids are used again. `gate` is the number of the gate that the file belongs to, in every
-- row: a grant out of another gate finds no lease.
CREATE TABLE holder (
    id         TEXT PRIMARY KEY,
    label      TEXT NOT NULL,
    ttl        REAL NOT NULL,
    expires_at REAL NOT NULL,
    pid        INTEGER NOT NULL,
    started    INTEGER NOT NULL,
    namespace  INTEGER NOT NULL,
    mailbox    TEXT,
    gate       INTEGER NOT NULL,
    evicted    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- One row per ask. Holders have `waiting` 0 and their token as `number`; the waiting have 1 and their turn, which is
-- the ticket of their arrival, less 2^54 for each step of priority. One B-tree and no other index: every page that changes costs a write in each commit.
CREATE TABLE claim (
    name    TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    holder  TEXT NOT NULL,
    serial  INTEGER NOT NULL,
    part    INTEGER NOT NULL,
    parts   INTEGER NOT NULL,
    mode    TEXT NOT NULL,
    weight  INTEGER NOT NULL,
    most    INTEGER NOT NULL,
    note    TEXT NOT NULL,
    since   REAL NOT NULL,
    PRIMARY KEY (name, waiting, number)
) WITHOUT ROWID;

-- A grant of the whole name ends whatever was held of it: handing over is one statement, and so one commit.
CREATE TRIGGER succession AFTER UPDATE OF waiting ON claim WHEN NEW.mode = 'exclusive'
BEGIN
    DELETE FROM claim WHERE name = NEW.name AND waiting = 0 AND number < NEW.number;
END;

CREATE TABLE eviction (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    token   INTEGER NOT NULL,
    evicted TEXT NOT NULL,
    by      TEXT NOT NULL,
    at      REAL NOT NULL
);

-- What must be known about the file itself: the boot its leases belong to, and a number above all tokens
-- (the gate file has both as well; this copy serves when that one is deleted).
-- `relays` is 1 while the gate's memory has claims that are not here.
CREATE TABLE life (
    boot    TEXT NOT NULL,
    ceiling INTEGER NOT NULL,
    relays  INTEGER NOT NULL
);

-- Rate limits: until when what was taken keeps each busy, on the clock that counts from boot.
CREATE TABLE meter (
    key        TEXT PRIMARY KEY,
    busy_until REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX idle ON meter (busy_until);
