//! Results of a sweep.

use serde::Serialize;

/// Numbers of torrents in a sweep; also the realtime message `torrents.parking.updated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub parked: u64,
    /// Those that somebody shares again, or that are complete.
    pub revived: u64,
    pub probed: u64,
    /// Those whose probe found nobody.
    pub still_dead: u64,
}

impl Summary {
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            parked: self.parked + other.parked,
            revived: self.revived + other.revived,
            probed: self.probed + other.probed,
            still_dead: self.still_dead + other.still_dead,
        }
    }

    /// True if people are to see other torrents parked than before.
    pub const fn is_news(self) -> bool {
        self.parked > 0 || self.revived > 0
    }
}
