//! Crashes of clients during a test: old ones crash now and then by themselves.

use std::cell::RefCell;
use std::process::ExitStatus;

use crate::Program;

thread_local! {
    static DIED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records that a client started by this thread's test has ended unexpectedly. A failure of the test is then
/// ignored once.
pub fn died(program: &Program, status: ExitStatus) {
    DIED.with_borrow_mut(|died| *died = Some(format!("{program} ended by itself ({status})")));
}

/// The crash recorded on this thread since the last call.
pub(crate) fn take() -> Option<String> {
    DIED.take()
}
