//! Detection of commits since the last look, so that polling loops can skip their queries.
//!
//! On SQLite this process counts its own transactions, and every commit of another process is written to the
//! log file beside the database, whose length and modification time one `stat` tells. On PostgreSQL there is
//! nothing as cheap, and the answer is always that something may have changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Age from which the log's modification time is trusted. A write becomes visible only once it is on disk,
/// and file systems count time in steps of some milliseconds.
const SETTLED: Duration = Duration::from_secs(2);

/// Counter of this process's transactions that may have written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes(Arc<AtomicU64>);

impl Writes {
    /// Guard that counts when it is dropped.
    pub fn begin(&self) -> Write {
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

/// State of the database that one loop has seen, see [`Db::changes`](crate::Db::changes).
#[derive(Debug)]
pub struct Changes {
    log: Option<Arc<Path>>,
    writes: Writes,
    seen: Option<State>,
}

/// Number of this process's writes; length and modification time of the log.
#[derive(Debug, PartialEq, Eq)]
struct State(u64, u64, SystemTime);

impl Changes {
    /// `log`: SQLite's write-ahead log; `None` where every look must query.
    pub(crate) const fn new(log: Option<Arc<Path>>, writes: Writes) -> Self {
        Self {
            log,
            writes,
            seen: None,
        }
    }

    /// True when a commit may have happened since the last call that returned true; always the first time.
    /// Call [`Changes::forget`] if the following read fails.
    pub fn any(&mut self) -> bool {
        let now = self.state();
        if now.is_some() && now == self.seen {
            return false;
        }
        let settled = |state: &State| state.2.elapsed().is_ok_and(|age| age >= SETTLED);
        self.seen = now.filter(settled);
        true
    }

    /// Makes the next call return true.
    pub fn forget(&mut self) {
        self.seen = None;
    }

    fn state(&self) -> Option<State> {
        let metadata = self.log.as_deref()?.metadata().ok()?;
        let writes = self.writes.0.load(Ordering::SeqCst);
        Some(State(writes, metadata.len(), metadata.modified().ok()?))
    }
}
