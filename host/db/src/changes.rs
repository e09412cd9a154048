//! Whether anything was committed since the last look: loops that follow what others change ask this before they query.
//!
//! On SQLite this process counts its own transactions, and every commit of a command beside it is written to the log file
//! next to the database, whose length and time of change one `stat` tells. On PostgreSQL nothing as cheap is known, and the
//! answer is always that something may have changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Shortest time between a change of the log and a look that may trust it. What was written is seen only once the disk has
/// it, and file systems count time in steps of some milliseconds.
const SETTLED: Duration = Duration::from_secs(2);

/// Counts transactions of this process that may have written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes(Arc<AtomicU64>);

impl Writes {
    /// Counts when it is dropped.
    pub fn one(&self) -> Write {
        Write(self.clone())
    }
}

/// One transaction that may have written, counted at its end.
pub(crate) struct Write(Writes);

impl Drop for Write {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What one loop has seen of the database, see [`Db::changes`](crate::Db::changes).
#[derive(Debug)]
pub struct Changes {
    log: Option<Arc<Path>>,
    writes: Writes,
    seen: Option<State>,
}

/// Writes of this process; length of the log and time of its last change.
#[derive(Debug, PartialEq, Eq)]
struct State(u64, u64, SystemTime);

impl Changes {
    /// `log`: SQLite's write-ahead log; `None` where every look is worth it.
    pub(crate) const fn new(log: Option<Arc<Path>>, writes: Writes) -> Self {
        Self {
            log,
            writes,
            seen: None,
        }
    }

    /// Whether something may have been committed since the last call that said so. True the first time. Whoever gets a
    /// true and then fails to read calls [`Changes::forget`].
    pub fn any(&mut self) -> bool {
        let now = self.state();
        if now.is_some() && now == self.seen {
            return false;
        }
        let settled = |state: &State| state.2.elapsed().is_ok_and(|age| age >= SETTLED);
        self.seen = now.filter(settled);
        true
    }

    /// Makes the next call say that something may have changed.
    pub fn forget(&mut self) {
        self.seen = None;
    }

    fn state(&self) -> Option<State> {
        let metadata = self.log.as_deref()?.metadata().ok()?;
        let writes = self.writes.0.load(Ordering::SeqCst);
        Some(State(writes, metadata.len(), metadata.modified().ok()?))
    }
}
