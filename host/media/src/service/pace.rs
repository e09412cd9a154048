//! Durations and bounds of work on libraries, which tests shorten.

use std::time::Duration;

/// Times and limits of work on libraries: trust in earlier scans, waiting times, numbers of items.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Age below which a change is not trusted: a file or folder changed later than this ago may change again without a
    /// trace in the time of its directory.
    pub settles: Duration,
    /// Age at which a directory is read again, whatever its state.
    pub relies: Duration,
    /// Time for which changes are gathered after the first one, to be scanned together.
    pub gathers: Duration,
    /// Time for which a scan waits for pending move events before it removes items of missing files.
    pub waits: Duration,
    /// Pause before a job about many items asks silent providers of metadata again. The second pause is three times as long,
    /// the third nine times.
    pub spares: Duration,
    /// Items for which providers are asked within one scan or one download. A job of its own does the rest.
    pub describes: usize,
    /// Time for which an action of a plugin waits for its job, which then goes on alone. The whole run has 30 s.
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
