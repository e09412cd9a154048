//! How often workers look, and for how long they hold on.

use std::time::Duration;

/// How often workers look, and for how long they hold on; the defaults are the product's.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How long a lease is good without being prolonged; that happens three times as often.
    pub lease: Duration,
    /// Between two looks for jobs that another process queued. There is none on SQLite, whose file is one process's: there
    /// it is only the pause after the database refused a look.
    pub poll: Duration,
    /// Between two looks of a worker that would hear of anything there is to do, in case it did not.
    pub rest: Duration,
    /// How long a stopping worker waits for its jobs before it leaves them.
    pub drain: Duration,
    /// Updates of one job's progress that come sooner after the last one are dropped.
    pub progress_gap: Duration,
    /// Without a sign of life for so long, a running job is told of as stalled.
    pub stall_after: Duration,
    pub stall_scan: Duration,
    /// Jobs at once; `None`: what the setting says.
    pub places: Option<usize>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            rest: Duration::from_mins(1),
            drain: Duration::from_secs(10),
            progress_gap: Duration::from_secs(1),
            stall_after: Duration::from_mins(5),
            stall_scan: Duration::from_secs(30),
            places: None,
        }
    }
}
