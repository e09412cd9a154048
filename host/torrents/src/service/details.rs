//! Files, peers and trackers of a torrent, asked of the client.

use qm_ports::engine::{File, Peer, Tracker};

use super::Torrents;
use super::commands::checked_hash;
use crate::error::TorrentsError;

impl Torrents {
    pub async fn files(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<File>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let files = engine.driver.files(&checked_hash(hash)?).await;
        files.map_err(TorrentsError::of(&engine.name()))
    }

    pub async fn peers(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<Peer>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let peers = engine.driver.peers(&checked_hash(hash)?).await;
        peers.map_err(TorrentsError::of(&engine.name()))
    }

    pub async fn trackers(&self, engine_id: Option<&str>, hash: &str) -> Result<Vec<Tracker>, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let trackers = engine.driver.trackers(&checked_hash(hash)?).await;
        trackers.map_err(TorrentsError::of(&engine.name()))
    }
}
