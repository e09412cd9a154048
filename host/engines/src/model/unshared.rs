//! The proof that a command may take the data of torrents: nobody else uses it.

use std::collections::HashSet;

use qm_ports::engine::{Command, EngineDriver, capability};

/// Torrents of one engine whose data is nobody else's. Only the guard of `qm_torrent_data` makes one.
#[derive(Debug, Default)]
pub struct Unshared(HashSet<String>);

impl Unshared {
    pub fn judged(hashes: impl IntoIterator<Item = String>) -> Self {
        Self(hashes.into_iter().collect())
    }

    pub fn covers(&self, hash: &str) -> bool {
        self.0.contains(hash)
    }
}

/// True if a command takes data away from where it lies.
pub fn takes_data(driver: &dyn EngineDriver, command: &Command) -> bool {
    match command {
        Command::Remove { with_data } => *with_data,
        Command::Move { .. } | Command::DownloadPath(_) | Command::AutoManage(_) => {
            driver.has(capability::MOVES_DATA)
        }
        Command::RenameFile { .. } | Command::RenameFolder { .. } => true,
        Command::Start
        | Command::Stop
        | Command::Pause
        | Command::Resume
        | Command::ForceStart(_)
        | Command::Recheck
        | Command::Reannounce
        | Command::Queue(_)
        | Command::Sequential(_)
        | Command::FirstLastPiece(_)
        | Command::SuperSeeding(_)
        | Command::ShareLimits(_)
        | Command::ReplaceTracker { .. }
        | Command::BanPeers { .. }
        | Command::Detach
        | Command::Attach { .. }
        // Of the torrent as it is shown: no file is called otherwise.
        | Command::Rename { .. }
        | Command::FilePriority { .. }
        | Command::Priority(_)
        | Command::UploadLimit(_)
        | Command::DownloadLimit(_)
        | Command::AddTracker { .. }
        | Command::RemoveTracker { .. }
        | Command::SetLabel { .. }
        | Command::AddTags { .. }
        | Command::RemoveTags { .. } => false,
    }
}
