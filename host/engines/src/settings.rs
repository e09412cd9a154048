//! Settings of the torrents.

use qm_platform::settings;

settings! {
    of "torrents";

    /// For information: an engine is read every 2 seconds.
    pub POLL_INTERVAL_MS: i64 = "engine.pollIntervalMs", || 2000, accepts(|ms| *ms > 0), seeded();

    /// Torrents taken of one engine; of a client that lists more the rest is left out. 1 to 200,000.
    pub MAX_TORRENTS: i64 = "engine.maxTorrents", || 200_000, accepts(|torrents| (1..=200_000).contains(torrents));

    /// Bytes that the texts of one engine's torrents and their JSON may take in memory; what would take more is left out.
    /// 1,048,576 (1 MiB) to 8,589,934,592 (8 GiB).
    pub MAX_SNAPSHOT_BYTES: i64 = "engine.maxSnapshotBytes",
        || 256 << 20, accepts(|bytes| (1 << 20..=8 << 30).contains(bytes));
}
