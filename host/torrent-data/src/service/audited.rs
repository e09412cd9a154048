//! Audit rows of orders about torrents, and the hashes that name them.

use qm_engines::{Engine, TorrentsError, audit_entry};
use qm_kernel::Caller;
use qm_metainfo::info_hash::is_info_hash;
use qm_ports::engine::Command;
use serde_json::{Map, Value};

use super::TorrentData;

const OBJECT: &str = "torrent";

impl TorrentData {
    /// Audits what was done to a torrent.
    pub async fn audit_torrent(&self, caller: Caller<'_>, action: &'static str, hash: &str, metadata: Value) {
        let entry = audit_entry(caller, action, Some((OBJECT, hash)), Some(metadata));
        self.audit.record_alone(&self.db, entry).await;
    }
}

/// The metadata of a command's audit row: the engine, the torrent's name if it is known, and the parameters. A
/// tracker's address is left out: private trackers put the user's key there.
pub fn told_of(engine: &Engine, hash: &str, command: &Command) -> Value {
    let mut told = Map::new();
    told.insert("engineId".into(), (*engine.id).into());
    if let Some(entry) = engine.snapshot().and_then(|list| list.get(hash).cloned()) {
        told.insert("name".into(), entry.torrent.name.as_str().into());
    }
    match command {
        Command::Move { destination } => {
            told.insert("destination".into(), destination.as_str().into());
        }
        Command::Rename { name } => {
            told.insert("newName".into(), name.as_str().into());
        }
        Command::UploadLimit(rate) => {
            told.insert("uploadBytesPerSec".into(), (*rate).into());
        }
        Command::DownloadLimit(rate) => {
            told.insert("downloadBytesPerSec".into(), (*rate).into());
        }
        Command::FilePriority { indexes, priority } => {
            let index = indexes.first().copied().filter(|_| indexes.len() == 1);
            told.insert("fileIndex".into(), index.into());
            told.insert("priority".into(), (*priority).into());
        }
        Command::AddTracker { .. } => {
            told.insert("change".into(), "added".into());
        }
        Command::RemoveTracker { .. } => {
            told.insert("change".into(), "removed".into());
        }
        Command::ReplaceTracker { .. } => {
            told.insert("change".into(), "replaced".into());
        }
        Command::DownloadPath(path) => {
            told.insert("downloadPath".into(), path.as_deref().into());
        }
        Command::RenameFolder { old_path, new_path } => {
            told.insert("oldPath".into(), old_path.as_str().into());
            told.insert("newPath".into(), new_path.as_str().into());
        }
        Command::Sequential(on)
        | Command::FirstLastPiece(on)
        | Command::SuperSeeding(on)
        | Command::AutoManage(on) => {
            told.insert("on".into(), (*on).into());
        }
        Command::BanPeers { peers } => {
            told.insert("peers".into(), peers.as_slice().into());
        }
        Command::SetLabel { label } => {
            told.insert("label".into(), label.as_str().into());
        }
        Command::AddTags { tags } => {
            told.insert("addedTags".into(), tags.as_slice().into());
        }
        Command::RemoveTags { tags } => {
            told.insert("removedTags".into(), tags.as_slice().into());
        }
        Command::Start
        | Command::Stop
        | Command::Pause
        | Command::Resume
        | Command::ForceStart(_)
        | Command::Recheck
        | Command::Reannounce
        | Command::Queue(_)
        | Command::ShareLimits(_)
        | Command::Remove { .. }
        | Command::RenameFile { .. }
        | Command::Detach
        | Command::Attach { .. }
        | Command::Priority(_) => {}
    }
    Value::Object(told)
}

/// Reads a hash as clients list it. A text that is no hash belongs to no torrent.
pub fn checked_hash(hash: &str) -> Result<String, TorrentsError> {
    if is_info_hash(hash) {
        Ok(hash.to_ascii_lowercase())
    } else {
        Err(TorrentsError::NoSuchTorrent)
    }
}
