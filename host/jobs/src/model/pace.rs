//! The intervals and time limits of a worker.

use std::time::Duration;

/// The intervals and time limits of a worker; the defaults are the product's.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Length of a lease; it is prolonged three times as often.
    pub lease: Duration,
    /// Interval between two looks for jobs that another process queued. An SQLite file belongs to one
    /// process, so there it is only the pause after a failed look.
    pub poll: Duration,
    /// Longest interval between two looks of a worker that is normally woken, in case a wake-up was missed.
    pub idle_poll: Duration,
    /// Time that a stopping worker gives its jobs before it abandons them.
    pub drain: Duration,
    /// Shortest interval between two stored progress updates of one job; updates that come sooner are
    /// dropped.
    pub progress_gap: Duration,
    /// Time within which hosted work may end before it is stored at all, so that its begin and its end are
    /// one write. Only on SQLite, whose file belongs to one process; zero stores every job at its begin.
    pub unstored_limit: Duration,
    /// Time for which such finished work is collected, to be written in one transaction.
    pub batch_delay: Duration,
    /// Time without a heartbeat after which a running job is reported as stalled.
    pub stall_after: Duration,
    pub stall_scan: Duration,
    /// Largest number of jobs at once; `None` reads the setting.
    pub places: Option<usize>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            idle_poll: Duration::from_mins(1),
            drain: Duration::from_secs(10),
            progress_gap: Duration::from_secs(1),
            unstored_limit: Duration::from_millis(100),
            batch_delay: Duration::from_millis(50),
            stall_after: Duration::from_mins(5),
            stall_scan: Duration::from_secs(30),
            places: None,
        }
    }
}
