//! Two questions to the operating system that the standard library does not ask.

#![expect(unsafe_code, reason = "two calls of the C library")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time that a request to trim memory waits for further ones: many instances may die at once.
const GATHER: Duration = Duration::from_millis(200);

/// Gives free memory of the heap back to the system, soon and on a thread of its own. The allocator keeps what is freed
/// between blocks that live: without this, what a guest made the host hold once would stay with the process.
pub(crate) fn trim_soon() {
    static PENDING: AtomicBool = AtomicBool::new(false);
    if PENDING.swap(true, Ordering::AcqRel) {
        return;
    }
    let trim = || {
        std::thread::sleep(GATHER);
        // Before it begins: what is freed from now on asks for another one.
        PENDING.store(false, Ordering::Release);
        trim();
    };
    let started = std::thread::Builder::new()
        .name("plugin-trim".to_owned())
        .spawn(trim);
    if started.is_err() {
        PENDING.store(false, Ordering::Release);
    }
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: it takes the allocator's own locks and touches only memory that is free.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators than glibc's give memory back by themselves.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

/// Computing time of the calling thread since it began.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it writes to `time`, which lives through the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    if failed {
        return Duration::ZERO;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}
