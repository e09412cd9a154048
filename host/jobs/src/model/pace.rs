//! The intervals and time limits of a worker.

use std::time::Duration;

/// The intervals and time limits of a worker; the defaults are the product's.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Length of a lease; it is prolonged three times as often.
    pub lease: Duration,
    /// Between two looks for jobs that another process queued. There is none on SQLite, whose file is one process's: there
    /// it is only the pause after the database refused a look.
    pub poll: Duration,
    /// Longest interval between two looks of a worker that is woken by anything there is to do, in case it was not.
    pub rest: Duration,
    /// Time that a stopping worker gives its jobs before it leaves them.
    pub drain: Duration,
    /// Shortest interval between two updates of one job's progress; what comes sooner is dropped.
    pub progress_gap: Duration,
    /// Time within which hosted work may end without having been stored before: then its beginning and its end are one
    /// write. Only on SQLite, whose file is one process's; zero stores everything at once.
    pub brief: Duration,
    /// Time for which work that ended so waits for more of its kind, to be written with it.
    pub gather: Duration,
    /// Time without a sign of life after which a running job is told of as stalled.
    pub stall_after: Duration,
    pub stall_scan: Duration,
    /// Most jobs at once; `None`: what the setting says.
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
            brief: Duration::from_millis(100),
            gather: Duration::from_millis(50),
            stall_after: Duration::from_mins(5),
            stall_scan: Duration::from_secs(30),
            places: None,
        }
    }
}
