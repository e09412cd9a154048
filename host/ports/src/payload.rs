//! The data of torrents on disk, as an area sees it that touches files and does not know the torrents area.

use std::path::Path;

use async_trait::async_trait;
use qm_kernel::{ClientInfo, Principal};

/// A torrent and where its data lies, as of the engine's last snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorrentPayload {
    pub engine_id: String,
    /// Lower-case hexadecimal info-hash.
    pub hash: String,
    pub name: String,
    /// Absolute: the torrent's only file, or the folder of its files.
    pub path: String,
    /// As `GET /api/torrents` shows it, e.g. `seeding`.
    pub state: &'static str,
    /// Whether the engine answered its last read.
    pub live: bool,
}

/// Finds torrents by their data, and removes them.
#[async_trait]
pub trait TorrentPayloads: Send + Sync {
    /// The torrents of all engines whose data is at one of `paths`, contains it, or lies below it; each once. Paths are
    /// absolute and compared component by component.
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload>;

    /// Removes the torrent from its engine, with its data when asked, and audits it as a removal by `principal`. The
    /// error is a sentence that names the engine.
    async fn remove(
        &self,
        payload: &TorrentPayload,
        with_data: bool,
        principal: &Principal,
        client: &ClientInfo,
    ) -> Result<(), String>;
}
