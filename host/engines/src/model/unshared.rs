//! The proof that a command may take the data of torrents: nobody else uses it.

use std::collections::HashSet;

use qm_ports::engine::{Command, EngineDriver, EngineError, Limit, ShareAction, ShareLimits, capability};

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

/// Refuses limits of sharing that no client may be given: a ratio that is no number from 0 on, and removal with the data. The client would
/// take the data at a moment that nobody here chooses, so that no proof holds.
pub fn check_share_limits(limits: &ShareLimits) -> Result<(), EngineError> {
    if let Limit::At(ratio) = limits.ratio
        && !(ratio.is_finite() && ratio >= 0.0)
    {
        return Err(EngineError::Rejected(format!(
            "the ratio {ratio} is no limit: give a number from 0 on"
        )));
    }
    if limits.action == ShareAction::RemoveWithData {
        return Err(EngineError::Unsupported(
            "A torrent client does not look whether other torrents use the data that it removes at a limit of sharing: choose the \
             action stop or remove, and remove the data here"
                .to_owned(),
        ));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_takes_no_data_by_itself() {
        for (action, is_free) in [
            (ShareAction::Inherit, true),
            (ShareAction::Stop, true),
            (ShareAction::Remove, true),
            (ShareAction::SuperSeed, true),
            (ShareAction::RemoveWithData, false),
        ] {
            let limits = ShareLimits {
                action,
                ..ShareLimits::default()
            };
            assert_eq!(check_share_limits(&limits).is_ok(), is_free, "{action:?}");
        }
    }
    #[test]
    fn a_ratio_is_a_number_from_0_on() {
        for (ratio, is_one) in [
            (0.0, true),
            (1.5, true),
            (f64::NAN, false),
            (f64::INFINITY, false),
            (-1.0, false),
        ] {
            let limits = ShareLimits {
                ratio: Limit::At(ratio),
                ..ShareLimits::default()
            };
            assert_eq!(check_share_limits(&limits).is_ok(), is_one, "{ratio}");
        }
    }
}
