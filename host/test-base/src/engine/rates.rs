//! Limits of speed of a torrent client for tests.

use qm_ports::engine::RateLimits;

/// Limits of speed of a [`FakeEngine`](super::FakeEngine).
#[derive(Debug, Default)]
pub struct FakeRates {
    pub normal: RateLimits,
    pub alternative: RateLimits,
    pub is_alternative: bool,
    /// It keeps whole multiples of so many bytes; 0 keeps what it is told.
    pub unit: u64,
    /// Everything that it was told, oldest first.
    pub told: Vec<String>,
    /// Questions after limits and modes.
    pub asked: usize,
}

impl FakeRates {
    /// Limits as the client keeps them.
    pub(super) fn keep(&self, limits: RateLimits) -> RateLimits {
        let round = |limit: Option<u64>| limit.map(|limit| limit / self.unit.max(1) * self.unit.max(1));
        RateLimits {
            download: round(limits.download),
            upload: round(limits.upload),
        }
    }
}
