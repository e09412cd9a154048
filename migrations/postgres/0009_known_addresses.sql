-- Where accounts have signed in from: an IPv4 address, or the first address of an IPv6 /64. Logins from there are not
-- delayed by the guesses of strangers.

CREATE TABLE known_addresses (
    user_id TEXT             NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    block   TEXT COLLATE "C" NOT NULL,
    seen_at BIGINT           NOT NULL,
    PRIMARY KEY (user_id, block)
);
