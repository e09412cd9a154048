//! The right of a server to act: on torrent clients, on files, on anything the database cannot guard.
//!
//! Of several servers on one database one is active, for as long as it prolongs a lease. What it writes into the database
//! the database itself refuses once another one has taken over; what it does elsewhere it may do only while its mandate
//! holds, which ends a little before the lease does. A server that is alone has its mandate for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The end of a mandate that was taken away: nothing prolongs it.
const TAKEN: u64 = 0;
/// The end of a mandate that has none.
const NEVER: u64 = u64::MAX;

/// Whether this server may act. Clones are handles to the same mandate; asking costs a few nanoseconds.
#[derive(Clone, Debug)]
pub struct Mandate(Arc<AtomicU64>);

impl Mandate {
    /// The mandate of a server that has the database for itself.
    pub fn for_ever() -> Self {
        Self(Arc::new(AtomicU64::new(NEVER)))
    }

    /// A mandate up to a moment of [`Mandate::clock`].
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
        // An error says that it stays as it was, which is what was asked for then.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| match now {
                TAKEN | NEVER => None,
                _ => Some(millis(end)),
            });
    }

    /// Takes it away, for good.
    pub fn take_away(&self) {
        self.0.store(TAKEN, Ordering::Release);
    }
}

impl Default for Mandate {
    fn default() -> Self {
        Self::for_ever()
    }
}

/// Never one of the two ends that mean something else.
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
