//! Files, peers and trackers of a torrent, asked of the client.

use qm_engines::TorrentsError;
use qm_ports::engine::{File, Peer, Tracker};
use qm_torrent_data::checked_hash;

use super::Torrents;

impl Torrents {
    pub async fn files(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<File>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let files = engine.driver.files(&checked_hash(hash)?).await;
        files.map_err(TorrentsError::blame_engine(&engine.name()))
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
