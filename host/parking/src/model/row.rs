//! A parked torrent, as it is stored.

use qm_kernel::Timestamp;
use qm_ports::parking::{ParkReason, Parked};

use super::rules::Rules;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Lower-case.
    pub hash: String,
    pub name: String,
    pub reason: ParkReason,
    pub parked_at: Timestamp,
    /// Instant since which it is paused. None while it is probed, and while its client has not said so: it is told again.
    pub rests_since: Option<Timestamp>,
    /// Instant since which it runs to see if somebody shares it.
    pub probing_since: Option<Timestamp>,
    /// End of the last probe that found nobody.
    pub last_probed_at: Option<Timestamp>,
    pub probe_count: u32,
    pub last_seeders: u32,
    /// Instant at which it was let go: it is parked no longer, and its age counts from then.
    pub released_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

impl Row {
    pub const fn is_parked(&self) -> bool {
        self.released_at.is_none()
    }

    pub const fn is_probing(&self) -> bool {
        self.is_parked() && self.probing_since.is_some()
    }

    /// True while it is not known that its client has paused it.
    pub const fn is_unsettled(&self) -> bool {
        self.is_parked() && self.probing_since.is_none() && self.rests_since.is_none()
    }

    pub const fn is_resting(&self) -> bool {
        self.is_parked() && self.rests_since.is_some()
    }

    /// Notes that it is paused, whether or not it was probed.
    pub fn rest(&mut self, now: Timestamp) {
        (self.rests_since, self.probing_since) = (Some(now), None);
    }

    /// Notes that it is started, to see if somebody shares it.
    pub fn probe(&mut self, now: Timestamp) {
        (self.rests_since, self.probing_since) = (None, Some(now));
    }

    pub fn release(&mut self, now: Timestamp) {
        (self.rests_since, self.probing_since) = (None, None);
        self.released_at = Some(now);
    }

    /// Notes that a probe found nobody.
    pub fn count_probe(&mut self, seeders: u32, now: Timestamp) {
        self.rest(now);
        self.last_probed_at = Some(now);
        self.probe_count = self.probe_count.saturating_add(1);
        self.last_seeders = seeders;
    }

    /// Instant from which it is to be probed; at once for one that never was.
    pub fn due_at(&self, rules: &Rules) -> Timestamp {
        match self.last_probed_at {
            None => self.parked_at,
            Some(at) => at.plus(rules.pause_after(self.probe_count)),
        }
    }

    /// Its mark in lists; none once it was let go.
    pub fn mark(&self) -> Option<Parked> {
        self.is_parked().then_some(Parked {
            reason: self.reason,
            parked_at: self.parked_at,
            last_seeders: self.last_seeders,
            probe_count: self.probe_count,
            probing: self.probing_since.is_some(),
        })
    }
}
