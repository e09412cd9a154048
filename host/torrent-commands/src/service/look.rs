//! The .torrent file of a torrent, and the look for its data.

use bytes::Bytes;
use qm_engines::TorrentsError;
use qm_engines::model::abilities::EXPORT;
use qm_torrent_data::{DataSight, checked_hash};

use super::TorrentCommands;
use super::one::check_able;
use crate::error::CommandsError;

/// Bytes of a .torrent file; one that is added may have no more.
const LARGEST: usize = 20 * 1024 * 1024;

impl TorrentCommands {
    /// Name and bytes of the .torrent file, as the client has it: with the addresses of its trackers.
    pub async fn export(
        &self,
        engine_id: Option<&str>,
        hash: &str,
    ) -> Result<(String, Bytes), CommandsError> {
        let engine = self.engines.resolve(engine_id)?;
        let hash = checked_hash(hash)?;
        check_able(&engine, Some(&hash), Some(&EXPORT))?;
        let file = engine.driver.export_metainfo(&hash).await;
        let file = file.map_err(|error| CommandsError::of_engine(&engine.name(), Some(&EXPORT), error))?;
        if file.len() > LARGEST {
            return Err(CommandsError::ExportTooLarge(engine.name().to_string()));
        }
        let entry = engine.snapshot().and_then(|list| list.get(&hash).cloned());
        let name = entry.map_or(hash, |entry| entry.torrent.name.clone());
        Ok((name, file.into()))
    }

    /// Looks whether the data is where the client says, as the server sees it.
    pub async fn check_location(
        &self,
        engine_id: Option<&str>,
        hash: &str,
    ) -> Result<DataSight, CommandsError> {
        let engine = self.engines.resolve(engine_id)?;
        let hash = checked_hash(hash)?;
        let known = engine.snapshot().is_none_or(|list| list.get(&hash).is_some());
        if !known {
            return Err(TorrentsError::NoSuchTorrent.into());
        }
        Ok(self.data.look_for_data(&engine, &hash).await?)
    }
}
