//! Torrents that are parked: paused because nobody shares them, and started from time to time to see if somebody does again.

use async_trait::async_trait;
use qm_kernel::Timestamp;

/// Reason for which a torrent was parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkReason {
    /// Nobody is connected, and fewer seeders than wanted are known.
    NoSeeders,
    /// It has loaded nothing for a long time.
    Stalled,
}

impl ParkReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSeeders => "no_seeders",
            Self::Stalled => "stalled",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::NoSeeders, Self::Stalled]
            .into_iter()
            .find(|reason| reason.as_str() == word)
    }
}

/// Mark that a parked torrent carries in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    pub reason: ParkReason,
    pub parked_at: Timestamp,
    /// Seeders that the client told of when it was parked or last probed.
    pub last_seeders: u32,
    /// Probes that found nobody.
    pub probe_count: u32,
    /// It runs now, to see if somebody shares it.
    pub probing: bool,
}

/// A parked torrent of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedTorrent {
    pub engine_id: String,
    /// Lower-case hexadecimal info-hash.
    pub hash: String,
    pub name: String,
    pub parked: Parked,
}

/// The parked torrents could not be read; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parked torrents could not be read: {0}")]
pub struct ParkingUnread(pub String);

/// Offered by parking. Answers come from what is stored; no client is asked.
#[async_trait]
pub trait Parking: Send + Sync {
    /// Parked torrents of all engines, those parked last first. Also of an engine that is disabled or away now.
    async fn parked(&self) -> Result<Vec<ParkedTorrent>, ParkingUnread>;
}
