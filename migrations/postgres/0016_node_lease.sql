-- Which of the servers on one PostgreSQL is active, in one row. An SQLite file has one server, by a lock on the file: there
-- the row is never touched.
CREATE TABLE node_lease (
    one       BIGINT  NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Grows by one with each take-over; what a server of an earlier term writes is refused.
    term      BIGINT  NOT NULL,
    -- The active server by the name its operator gave it, and where it listens.
    node      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    -- What its sessions on this database are called.
    session   TEXT    NOT NULL,
    -- The data directory it works in, as its machine knows it; empty when that is not known.
    place     TEXT    NOT NULL,
    -- A fingerprint of its keys: others need the same.
    secrets   TEXT    NOT NULL,
    -- Until when nobody else may take over, by the clock of the database, in milliseconds; 0 when it was given back.
    until     BIGINT  NOT NULL,
    taken_at  BIGINT  NOT NULL
);

INSERT INTO node_lease (one, term, node, address, session, place, secrets, until, taken_at)
VALUES (1, 0, '', '', '', '', '', 0, 0);
