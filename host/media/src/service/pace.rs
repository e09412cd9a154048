//! Durations and bounds by which libraries are worked on, which tests shorten.

use std::time::Duration;

/// When a scan relies on what the one before saw.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// What was touched later than this ago may change again without a trace in its directory.
    pub settles: Duration,
    /// A directory that was read longer ago is read again, whatever its state.
    pub relies: Duration,
    /// What changes within this of the first change is scanned together.
    pub gathers: Duration,
    /// So long a scan waits, before it removes what is gone, for events of before that may tell where to.
    pub waits: Duration,
    /// So long providers of metadata that do not answer are left alone, before a job that has them asked about many items goes on;
    /// three times that and nine times that when they still do not.
    pub spares: Duration,
    /// Items that providers of metadata are asked about with one scan, or one download; the rest is left to a job of its own.
    pub describes: usize,
    /// So long an action of a plugin waits for a job, which then goes on by itself: its run has 30 s in all.
    pub lingers: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            settles: Duration::from_mins(10),
            relies: Duration::from_hours(24),
            gathers: Duration::from_secs(10),
            waits: Duration::from_secs(5),
            spares: Duration::from_secs(10),
            describes: 200,
            lingers: Duration::from_secs(20),
        }
    }
}
