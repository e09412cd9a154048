//! The right of a server to act: on torrent clients, on files, on anything the database cannot guard.
//!
//! Among several servers on one database one is active, as long as it prolongs a lease. After a take-over the
//! database refuses its writes; outside the database it may act only while its mandate is valid, which ends a
//! little before the lease. A server without others has a permanent mandate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// End of a revoked mandate: it cannot be prolonged.
const TAKEN: u64 = 0;
/// End of a permanent mandate.
const NEVER: u64 = u64::MAX;

/// Right of this server to act. Clones are handles to the same mandate; a check takes a few nanoseconds.
#[derive(Clone, Debug)]
pub struct Mandate(Arc<AtomicU64>);

impl Mandate {
    /// The mandate of a server that has the database to itself.
    pub fn for_ever() -> Self {
        Self(Arc::new(AtomicU64::new(NEVER)))
    }

    /// A mandate that ends at this time of [`Mandate::clock`].
    pub fn until(end: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(millis(end))))
    }

    /// A mandate that was never given.
    pub fn none() -> Self {
        Self(Arc::new(AtomicU64::new(TAKEN)))
    }

    /// Time since the machine was started. It goes on while the process is stopped and while the machine sleeps, and no
    /// administrator sets it.
    pub fn clock() -> Duration {
        let now = clock_gettime(ClockId::Boottime);
        Duration::new(
            u64::try_from(now.tv_sec).unwrap_or_default(),
            u32::try_from(now.tv_nsec).unwrap_or_default(),
        )
    }

    pub fn holds(&self) -> bool {
        match self.0.load(Ordering::Acquire) {
            NEVER => true,
            TAKEN => false,
            end => millis(Self::clock()) < end,
        }
    }

    /// Moves the end, unless the mandate was taken away or has no end.
    pub fn prolong(&self, end: Duration) {
        // An error means that it stays unchanged, which is correct then.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| match now {
                TAKEN | NEVER => None,
                _ => Some(millis(end)),
            });
    }

    /// Revokes the mandate for good.
    pub fn take_away(&self) {
        self.0.store(TAKEN, Ordering::Release);
    }
}

impl Default for Mandate {
    fn default() -> Self {
        Self::for_ever()
    }
}

/// Milliseconds, never equal to one of the two special values.
fn millis(moment: Duration) -> u64 {
    u64::try_from(moment.as_millis())
        .unwrap_or(NEVER)
        .clamp(1, NEVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_its_end_and_may_be_prolonged_until_it_is_taken_away() {
        let now = Mandate::clock();
        let mandate = Mandate::until(now);
        let handle = mandate.clone();
        assert!(!mandate.holds(), "its end has come");
        handle.prolong(now + Duration::from_mins(1));
        assert!(
            mandate.holds(),
            "also after its end, by whoever knows that nobody else has it"
        );
        handle.take_away();
        mandate.prolong(now + Duration::from_mins(1));
        assert!(
            !mandate.holds() && !handle.holds(),
            "what was taken away stays away"
        );
    }

    #[test]
    fn a_server_that_is_alone_keeps_it() {
        let mandate = Mandate::default();
        mandate.prolong(Duration::ZERO);
        assert!(mandate.holds());
        assert!(!Mandate::none().holds());
        mandate.take_away();
        assert!(!mandate.holds());
    }
}
