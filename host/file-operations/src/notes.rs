//! Notes of where temporaries are made: written before the first byte of one, struck when all of them are gone. What is
//! noted of a process that is no more is where it was killed at work, and where a [`sweep`](mod@super::sweep) has to look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qm_confined::{FsError, Place};

/// The store of notes. Called from threads that may block.
pub trait Notes: Send + Sync {
    /// Durable when it returns. Answers the note's id. With `whole_tree` temporaries may lie anywhere below the place,
    /// else in it.
    fn write(&self, place: &Place, whole_tree: bool) -> Result<String, FsError>;

    /// The temporaries of a note are gone; or, not `clean`, one could not be removed and is left to the next sweep. Must
    /// not wait: unlike the other it is called from anywhere.
    fn close(&self, id: &str, clean: bool);
}

/// A note that stands. No temporary is made without one, and it stands for as long as one of them is held.
pub(super) struct Noted {
    note: Option<(Arc<dyn Notes>, String)>,
    left_behind: AtomicBool,
}

impl Noted {
    pub fn write(
        notes: Option<&Arc<dyn Notes>>,
        place: &Place,
        whole_tree: bool,
    ) -> Result<Arc<Self>, FsError> {
        let note = match notes {
            Some(notes) => Some((Arc::clone(notes), notes.write(place, whole_tree)?)),
            None => None,
        };
        Ok(Arc::new(Self {
            note,
            left_behind: AtomicBool::new(false),
        }))
    }

    /// A temporary stays: the note is not struck.
    pub fn leave(&self) {
        self.left_behind.store(true, Ordering::Relaxed);
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let clean = !*self.left_behind.get_mut();
        if let Some((notes, id)) = &self.note {
            notes.close(id, clean);
        }
    }
}
