//! Progress and cancellation of a long operation.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Notes;
use super::notes::Noted;
use qm_confined::{FsError, Place};
use qm_lanes::IgnorePoison;

/// Progress of an operation. Totals are of everything it was asked to do, once known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub items: u64,
    pub bytes: u64,
    pub total_items: Option<u64>,
    pub total_bytes: Option<u64>,
}

/// Callback after every item and every chunk of a file. It runs in the working thread, so it must be quick and throttle itself.
pub type OnProgress = Box<dyn Fn(Progress) + Send + Sync>;

/// Progress, cancellation and notes of one long operation.
pub struct Control {
    cancel: CancellationToken,
    on_progress: Option<OnProgress>,
    done: std::sync::Mutex<Progress>,
    notes: Option<Arc<dyn Notes>>,
}

impl Control {
    pub fn new(cancel: CancellationToken, on_progress: OnProgress) -> Self {
        Self {
            cancel,
            on_progress: Some(on_progress),
            done: std::sync::Mutex::default(),
            notes: None,
        }
    }

    /// Control without a progress callback; only the token can stop the operation.
    pub fn quiet(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            on_progress: None,
            done: std::sync::Mutex::default(),
            notes: None,
        }
    }

    /// Sets the store for the places of temporaries; without it nothing is noted.
    pub fn noting(mut self, notes: Arc<dyn Notes>) -> Self {
        self.notes = Some(notes);
        self
    }

    /// Notes that temporaries are about to be made there.
    pub(super) fn note(&self, place: &Place, whole_tree: bool) -> Result<Arc<Noted>, FsError> {
        Noted::write(self.notes.as_ref(), place, whole_tree)
    }

    /// Control for a last step that is neither counted nor stopped.
    pub(crate) fn unstoppable() -> Self {
        Self::quiet(CancellationToken::new())
    }

    /// A control of the last step of this operation.
    pub(super) fn last_step(&self) -> Self {
        Self {
            notes: self.notes.clone(),
            ..Self::unstoppable()
        }
    }

    /// Ends the operation if it was cancelled; to be called between items and between chunks.
    pub fn check(&self) -> Result<(), FsError> {
        if self.cancel.is_cancelled() {
            return Err(FsError::Cancelled);
        }
        Ok(())
    }

    /// Adds to the totals of the operation.
    pub fn expect(&self, items: u64, bytes: u64) {
        self.report(|done| {
            done.total_items = Some(done.total_items.unwrap_or(0) + items);
            done.total_bytes = Some(done.total_bytes.unwrap_or(0) + bytes);
        });
    }

    /// Counts an item as done.
    pub fn item_done(&self) {
        self.report(|done| done.items += 1);
    }

    /// Counts bytes as done.
    pub fn bytes_done(&self, bytes: u64) {
        self.report(|done| done.bytes += bytes);
    }

    fn report(&self, change: impl FnOnce(&mut Progress)) {
        let now = {
            let mut done = self.done.lock().ignore_poison();
            change(&mut done);
            *done
        };
        if let Some(tell) = &self.on_progress {
            tell(now);
        }
    }
}
