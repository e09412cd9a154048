//! The transfer ledger: what an engine has moved in all, though its torrents come, go and lose their counters.
//!
//! Totals = a baseline taken once + what was seen to grow since. Invariant: a torrent's counters in the database and the
//! growth up to exactly those counters change in one transaction. A crash therefore neither loses nor doubles growth:
//! whatever was not written is seen again as the difference to the stored counters. Only a counter that both falls *and*
//! did so while the service was down hides what it counted after the last write.

use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, Transfer};

/// The two counters of a torrent or of an engine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub downloaded: u64,
    pub uploaded: u64,
}

impl Counters {
    pub fn plus(self, other: Counters) -> Counters {
        Counters {
            downloaded: self.downloaded.saturating_add(other.downloaded),
            uploaded: self.uploaded.saturating_add(other.uploaded),
        }
    }

    pub fn sum<'a>(torrents: impl Iterator<Item = &'a Torrent>) -> Counters {
        torrents
            .map(Counters::from)
            .fold(Counters::default(), Counters::plus)
    }
}

impl From<&Torrent> for Counters {
    fn from(torrent: &Torrent) -> Self {
        Self {
            downloaded: torrent.downloaded,
            uploaded: torrent.uploaded,
        }
    }
}

impl From<Transfer> for Counters {
    fn from(transfer: Transfer) -> Self {
        Self {
            downloaded: transfer.downloaded,
            uploaded: transfer.uploaded,
        }
    }
}

/// The growth of counters, and the number of times that one of them fell and started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub moved: Counters,
    pub resets: u64,
}

impl Growth {
    /// From one sighting to the next. A counter that fell started again from zero.
    pub fn between(before: Counters, now: Counters) -> Growth {
        fn count_moved(before: u64, now: u64) -> (u64, u64) {
            if now >= before {
                (now - before, 0)
            } else {
                (now, 1)
            }
        }
        let (downloaded, first) = count_moved(before.downloaded, now.downloaded);
        let (uploaded, second) = count_moved(before.uploaded, now.uploaded);
        Growth {
            moved: Counters { downloaded, uploaded },
            resets: first + second,
        }
    }

    pub fn plus(self, other: Growth) -> Growth {
        Growth {
            moved: self.moved.plus(other.moved),
            resets: self.resets + other.resets,
        }
    }

    pub fn is_zero(self) -> bool {
        self == Growth::default()
    }
}

/// Where a baseline came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineSource {
    /// The client's own all-time counters.
    EngineAllTime,
    /// The sum over the torrents it listed; it keeps no all-time counters.
    CurrentTorrents,
}

impl BaselineSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            BaselineSource::EngineAllTime => "engine_alltime",
            BaselineSource::CurrentTorrents => "current_torrents",
        }
    }
}

/// Where an engine's count began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    pub counters: Counters,
    pub source: BaselineSource,
    pub at: Timestamp,
}

/// Totals of an engine as far as they are in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    pub baseline: Counters,
    pub accrued: Growth,
}

impl Ledger {
    pub fn starting_at(baseline: Baseline) -> Self {
        Self {
            baseline: baseline.counters,
            accrued: Growth::default(),
        }
    }

    pub fn grown(self, growth: Growth) -> Self {
        Self {
            accrued: self.accrued.plus(growth),
            ..self
        }
    }

    /// Totals with the growth that is not in the database yet.
    pub fn totals(&self, unwritten: Growth) -> Counters {
        self.baseline.plus(self.accrued.moved).plus(unwritten.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(downloaded: u64, uploaded: u64) -> Counters {
        Counters { downloaded, uploaded }
    }

    #[test]
    fn growth_counts_what_was_added_and_starts_again_after_a_fall() {
        for (before, now, moved, resets) in [
            ((10, 10), (10, 10), (0, 0), 0),
            ((10, 10), (15, 12), (5, 2), 0),
            ((10, 10), (4, 12), (4, 2), 1),
            ((10, 10), (0, 0), (0, 0), 2),
        ] {
            let growth = Growth::between(counters(before.0, before.1), counters(now.0, now.1));
            assert_eq!(
                growth,
                Growth {
                    moved: counters(moved.0, moved.1),
                    resets
                },
                "{before:?} to {now:?}"
            );
        }
    }

    #[test]
    fn nonsense_of_a_client_saturates() {
        let huge = Growth::between(counters(0, 0), counters(u64::MAX, 0));
        assert_eq!(huge.plus(huge).moved.downloaded, u64::MAX);
    }
}
