//! Records of this client beyond those that all engine kinds share.

use engine_model::{Error, GlobalStats, State, Torrent};

/// The product's own word for a state; `stopped` and `completed` are never among them. 5.x says `stopped…` where 4.x says
/// `paused…`.
pub(crate) fn state(native: &str) -> State {
    match native {
        "error" | "missingFiles" => State::Error,
        "pausedUP" | "pausedDL" | "stoppedUP" | "stoppedDL" => State::Paused,
        "queuedUP" | "queuedDL" | "queuedForChecking" => State::Queued,
        "uploading" | "forcedUP" | "stalledUP" => State::Seeding,
        "checkingUP" | "checkingDL" | "checkingResumeData" | "moving" => State::Checking,
        "allocating" => State::Allocating,
        "downloading" | "forcedDL" | "stalledDL" | "metaDL" | "forcedMetaDL" => State::Downloading,
        _ => State::Unknown,
    }
}

/// Changes since the poll whose cursor was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub cursor: u64,
    pub full: bool,
    pub changed: Vec<Torrent>,
    pub removed: Vec<String>,
    pub stats: GlobalStats,
}

/// Result of a command for one torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub hash: String,
    pub error: Option<Error>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_native_state_is_mapped() {
        let table: &[(&str, State)] = &[
            ("error", State::Error),
            ("missingFiles", State::Error),
            ("pausedUP", State::Paused),
            ("pausedDL", State::Paused),
            ("stoppedUP", State::Paused),
            ("stoppedDL", State::Paused),
            ("queuedUP", State::Queued),
            ("queuedDL", State::Queued),
            ("queuedForChecking", State::Queued),
            ("uploading", State::Seeding),
            ("forcedUP", State::Seeding),
            ("stalledUP", State::Seeding),
            ("checkingUP", State::Checking),
            ("checkingDL", State::Checking),
            ("checkingResumeData", State::Checking),
            ("moving", State::Checking),
            ("allocating", State::Allocating),
            ("downloading", State::Downloading),
            ("forcedDL", State::Downloading),
            ("stalledDL", State::Downloading),
            ("metaDL", State::Downloading),
            ("forcedMetaDL", State::Downloading),
            ("unknown", State::Unknown),
            ("", State::Unknown),
            ("PausedUP", State::Unknown),
            ("something a later client says", State::Unknown),
        ];
        for (native, expected) in table {
            assert_eq!(state(native), *expected, "{native}");
        }
    }
}
