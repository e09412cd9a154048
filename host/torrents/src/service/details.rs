//! Files, peers and trackers of a torrent, asked of the client, and its purpose, asked of other areas.

use qm_engines::TorrentsError;
use qm_ports::engine::{File, Peer, Tracker};
use qm_ports::intake::TakenFor;
use qm_torrent_data::checked_hash;
use qm_torrent_lists::TorrentEntry;

use super::Torrents;

impl Torrents {
    pub async fn files(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<File>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let files = engine.driver.files(&checked_hash(hash)?).await;
        files.map_err(TorrentsError::blame_engine(&engine.name()))
    }

    /// The work that a torrent was grabbed for; none where nobody knows, or can say now.
    pub async fn find_purpose(&self, entry: &TorrentEntry) -> Option<TakenFor> {
        let (engine_id, hash) = (&*entry.engine_id, &*entry.torrent.hash);
        match self.tellers.tell(engine_id, hash).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(engine.id = engine_id, hash, %error, "nobody can say now what a torrent was grabbed for");
                None
            }
        }
    }

    pub async fn peers(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<Peer>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let peers = engine.driver.peers(&checked_hash(hash)?).await;
        peers.map_err(TorrentsError::blame_engine(&engine.name()))
    }

    pub async fn trackers(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<Tracker>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let trackers = engine.driver.trackers(&checked_hash(hash)?).await;
        trackers.map_err(TorrentsError::blame_engine(&engine.name()))
    }
}
