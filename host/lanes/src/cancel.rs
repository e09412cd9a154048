//! The sign that work is not wanted any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static ENDING: AtomicBool = AtomicBool::new(false);

/// From now on all work is unwanted: the process ends.
pub(crate) fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
}

pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::Relaxed)
}

/// Says whether work is to end. Cheap to clone; all clones are one sign.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the work to end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end: nobody waits for it, somebody asked, or the process ends.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) || is_ending()
    }
}
