//! Clients that end by themselves while a test drives them: old ones crash now and then, whoever asks them.

use std::cell::RefCell;
use std::process::ExitStatus;

use crate::Program;

thread_local! {
    static DIED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes that a client which the test of this thread had started has ended, and not by the test's wish. A failure of the
/// test is then no word about ours, once.
pub fn died(program: &Program, status: ExitStatus) {
    DIED.with_borrow_mut(|died| *died = Some(format!("{program} ended by itself ({status})")));
}

/// What was noted on this thread since the last call.
pub(crate) fn take() -> Option<String> {
    DIED.take()
}
