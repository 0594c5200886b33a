-- Version 8. Names are stored in full; indexes have their 64-bit hash, because a name may be longer than an
-- index entry. Times are the database's own.

-- Nothing that somebody left elsewhere under the name of a function of the server's.
SET LOCAL search_path = pg_catalog, pg_temp;
-- Whoever comes second waits here, and then finds that all is there.
SELECT pg_advisory_xact_lock(1717923427, hashtext('{schema}'));
CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE {schema}.version (version integer NOT NULL);
INSERT INTO {schema}.version VALUES (8);

-- Tokens, and the tickets of those who wait. It starts at the clock, so that tokens outlive even this schema.
CREATE SEQUENCE {schema}.token;
SELECT setval('{schema}.token', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

-- One row while the server remembers all tokens it gave out. An unlogged table is empty after a crash, after the
-- promotion of a standby and in a backup of a running server: exactly when the last values of a sequence may be
-- forgotten. The files of a stopped server may be a copy, and older than they look: the row is of one start only.
CREATE UNLOGGED TABLE {schema}.life (one boolean PRIMARY KEY CHECK (one), started timestamptz NOT NULL);
INSERT INTO {schema}.life VALUES (true, pg_postmaster_start_time());

-- One row per lease; `expires_at` is -infinity once it was closed. What was asked before `epoch` began, and comes later,
-- is without effect: nobody waits for its answer.
CREATE TABLE {schema}.lease (
    id         text PRIMARY KEY,
    label      text NOT NULL,
    expires_at timestamptz NOT NULL,
    channel    text NOT NULL,
    epoch      bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- One row per ask: with a token it is held, without one it waits. The lowest ticket goes first: that of the arrival,
-- less 2^54 for each step of priority. `part` is 0 if it is all of its request and wants the name alone.
CREATE TABLE {schema}.claim (
    key     bigint NOT NULL,
    name    text NOT NULL,
    ticket  bigint NOT NULL,
    token   bigint,
    holder  text NOT NULL,
    serial  bigint NOT NULL,
    part    integer NOT NULL,
    mode    text NOT NULL,
    weight  integer NOT NULL,
    most    integer NOT NULL,
    note    text NOT NULL,
    since   timestamptz NOT NULL,
    PRIMARY KEY (key, ticket, part)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX claim_of_holder ON {schema}.claim (holder, serial);

CREATE TABLE {schema}.eviction (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL,
    token   bigint NOT NULL,
    holder  text NOT NULL,
    evicted text NOT NULL,
    by      text NOT NULL,
    at      timestamptz NOT NULL
);

-- For advisory locks, which only have numbers: who is behind a connection.
CREATE UNLOGGED TABLE {schema}.connection (
    pid     integer NOT NULL,
    started timestamptz NOT NULL,
    holder  text NOT NULL,
    label   text NOT NULL,
    ttl     double precision NOT NULL,
    PRIMARY KEY (pid)
);

-- And what it holds, by name, as of its last renewal.
CREATE UNLOGGED TABLE {schema}.holding (
    pid   integer NOT NULL,
    name  text NOT NULL,
    note  text NOT NULL,
    token bigint NOT NULL
);
CREATE INDEX holding_of_connection ON {schema}.holding (pid);
