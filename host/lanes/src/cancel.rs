//! Signal to work that its result is not needed any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static ENDING: AtomicBool = AtomicBool::new(false);

/// Cancels all work, because the process ends.
pub(crate) fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
}

pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::Relaxed)
}

/// Cancellation signal. Cheap to clone; all clones share one signal.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests the end of the work.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True when the work must end: nobody waits for it, it was cancelled, or the process ends.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) || is_ending()
    }
}
