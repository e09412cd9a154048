//! Growth of counters, and sums of it.

use qm_ports::engine::{Torrent, TorrentState};

/// Bytes per second that no engine exceeds: a counter that grows faster was set, by a check or by an import.
const FASTEST: u64 = 100_000_000_000 / 8;
/// Shortest time over which that is judged, in milliseconds: a list may be some seconds behind.
const SHORTEST: i64 = 10_000;

/// Two counters, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub downloaded: u64,
    pub uploaded: u64,
}

impl Counters {
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// A torrent as it was seen at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    pub counters: Counters,
    /// Its data is being checked: some clients count what a check finds as downloaded.
    pub is_checked: bool,
    /// Nobody started it.
    pub is_at_rest: bool,
}

impl From<&Torrent> for Sight {
    fn from(torrent: &Torrent) -> Self {
        Self {
            counters: Counters {
                downloaded: torrent.downloaded,
                uploaded: torrent.uploaded,
            },
            is_checked: torrent.state == TorrentState::Checking,
            is_at_rest: matches!(torrent.state, TorrentState::Stopped | TorrentState::Paused),
        }
    }
}

/// Bytes that can have moved in a time at most, of each counter: of a torrent, and of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Budget(Counters);

impl Budget {
    pub fn for_time(elapsed_ms: i64) -> Self {
        let seconds = (elapsed_ms.max(SHORTEST) / 1000).unsigned_abs();
        let most = FASTEST.saturating_mul(seconds);
        Self(Counters {
            downloaded: most,
            uploaded: most,
        })
    }

    /// Bytes that moved between two sights of a torrent. A counter that fell, or leapt, moved nothing: it counts from where it is.
    pub fn count_growth(&mut self, before: Sight, now: Sight) -> Counters {
        let was_found = before.is_checked || now.is_checked || (before.is_at_rest && now.is_at_rest);
        let (before, now) = (before.counters, now.counters);
        Counters {
            downloaded: if was_found {
                0
            } else {
                spend(&mut self.0.downloaded, before.downloaded, now.downloaded)
            },
            uploaded: spend(&mut self.0.uploaded, before.uploaded, now.uploaded),
        }
    }
}

/// Growth of a counter, taken from what is left; nothing where it is more than that.
fn spend(left: &mut u64, before: u64, now: u64) -> u64 {
    let grown = now.saturating_sub(before);
    match left.checked_sub(grown) {
        Some(rest) => {
            *left = rest;
            grown
        }
        None => 0,
    }
}

/// Bytes of some time, and the highest rates in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub moved: Counters,
    /// Time that the bytes took.
    pub covered_ms: u64,
    /// Bytes per second.
    pub peak_download: u64,
    pub peak_upload: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        let moved = &mut self.moved;
        moved.downloaded = moved.downloaded.saturating_add(other.moved.downloaded);
        moved.uploaded = moved.uploaded.saturating_add(other.moved.uploaded);
        self.covered_ms = self.covered_ms.saturating_add(other.covered_ms);
        self.peak_download = self.peak_download.max(other.peak_download);
        self.peak_upload = self.peak_upload.max(other.peak_upload);
    }
}

/// Looks at an engine in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    pub samples: u64,
    /// Sum of the torrents that moved at each look.
    pub active: u64,
    pub peak_active: u64,
}

impl Watch {
    pub fn add(&mut self, other: Watch) {
        self.samples = self.samples.saturating_add(other.samples);
        self.active = self.active.saturating_add(other.active);
        self.peak_active = self.peak_active.max(other.peak_active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(downloaded: u64, uploaded: u64) -> Sight {
        Sight {
            counters: Counters { downloaded, uploaded },
            ..Sight::default()
        }
    }

    fn count_growth(before: Sight, now: Sight, elapsed_ms: i64) -> Counters {
        Budget::for_time(elapsed_ms).count_growth(before, now)
    }

    #[test]
    fn a_counter_that_fell_or_leapt_moved_nothing() {
        for (before, now, expected) in [
            ((10, 10), (15, 12), (5, 2)),
            ((10, 10), (10, 10), (0, 0)),
            // The client lost its counters, or went back to older ones.
            ((1_000, 1_000), (0, 999), (0, 0)),
            ((10, 1_000), (15, 5), (5, 0)),
            ((0, 0), (u64::MAX, u64::MAX), (0, 0)),
            ((u64::MAX, 0), (0, 7), (0, 7)),
        ] {
            let moved = count_growth(sight(before.0, before.1), sight(now.0, now.1), 5_000);
            assert_eq!(
                (moved.downloaded, moved.uploaded),
                expected,
                "{before:?} to {now:?}"
            );
        }
        // Half a terabyte within seconds is none; within an hour it is one.
        let (before, now) = (sight(0, 0), sight(500 << 30, 500 << 30));
        assert!(count_growth(before, now, 5_000).is_zero());
        assert_eq!(count_growth(before, now, 3_600_000), now.counters);
        // All torrents of an engine together move no more either.
        let mut budget = Budget::for_time(3_600_000);
        let moved = (0..1_000).map(|_| budget.count_growth(before, now).uploaded);
        assert_eq!(moved.filter(|moved| *moved > 0).count(), 83);
    }

    #[test]
    fn data_that_a_check_finds_was_not_downloaded() {
        let with = |is_checked, is_at_rest, downloaded| Sight {
            is_checked,
            is_at_rest,
            ..sight(downloaded, 3)
        };
        for (before, now, expected) in [
            (with(true, false, 5), with(true, false, 50), 0),
            (with(false, false, 5), with(true, false, 50), 0),
            (with(true, false, 5), with(false, false, 50), 0),
            (with(false, true, 5), with(false, true, 50), 0),
            // It was stopped just now, or started just now.
            (with(false, false, 5), with(false, true, 50), 45),
            (with(false, true, 5), with(false, false, 50), 45),
        ] {
            assert_eq!(
                count_growth(before, now, 5_000).downloaded,
                expected,
                "{before:?} to {now:?}"
            );
        }
    }
}
