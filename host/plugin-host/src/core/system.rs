//! Two things of the C library that the standard library does not offer.

#![expect(unsafe_code, reason = "calls of the C library")]

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use qm_lanes::IgnorePoison;

/// Gives free memory of the heap back to the system, soon and on a thread of its own. The allocator keeps what is freed
/// between blocks that live: without this, what a guest made the host hold once would stay with the process.
pub fn trim_soon() {
    static TRIMS: Trims = Trims::new(GATHER, LATE, trim);
    TRIMS.ask();
}

/// Time that a request to trim memory waits for further ones: many instances may die at once.
const GATHER: Duration = Duration::from_millis(200);
/// Times, each after the one before, after which memory is trimmed once more: what was made of an instance's answers (lists of
/// torrents, say) goes later than the instance, and where a hundred thousand rows are to be removed first, a minute later.
const LATE: &[Duration] = &[
    Duration::from_secs(10),
    Duration::from_secs(50),
    Duration::from_mins(4),
];

/// Requests to trim memory, answered by one thread, which lives only while there is something to do.
struct Trims {
    gather: Duration,
    late: &'static [Duration],
    trim: fn(),
    state: Mutex<TrimState>,
    asked: Condvar,
}

struct TrimState {
    is_asked: bool,
    is_running: bool,
}

impl Trims {
    const fn new(gather: Duration, late: &'static [Duration], trim: fn()) -> Self {
        Self {
            gather,
            late,
            trim,
            state: Mutex::new(TrimState {
                is_asked: false,
                is_running: false,
            }),
            asked: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, TrimState> {
        self.state.lock().ignore_poison()
    }

    fn ask(&'static self) {
        let mut state = self.state();
        state.is_asked = true;
        if state.is_running {
            self.asked.notify_one();
            return;
        }
        let started = std::thread::Builder::new()
            .name("plugin-trim".to_owned())
            .spawn(|| self.run());
        // Without a thread there is no trim; the next request tries again.
        state.is_running = started.is_ok();
    }

    /// Trims for every request, and some times more when they have ended.
    fn run(&self) {
        'asked: loop {
            std::thread::sleep(self.gather);
            // Before the trim begins: what is freed from now on asks for another one.
            self.state().is_asked = false;
            (self.trim)();
            for late in self.late {
                if !self.is_quiet_for(*late) {
                    continue 'asked;
                }
                (self.trim)();
            }
            let mut state = self.state();
            if !state.is_asked {
                state.is_running = false;
                return;
            }
        }
    }

    fn is_quiet_for(&self, time: Duration) -> bool {
        self.asked
            .wait_timeout_while(self.state(), time, |state| !state.is_asked)
            .ignore_poison()
            .1
            .timed_out()
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

/// Bytes of a block from which on it is asked of the system, and given back to it, by itself; and the most that the heap of a
/// thread keeps at its end.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 4 << 20;

/// Bounds what the heap of this process keeps of what was freed. glibc's own bounds rise with each large block
/// that is freed: after one of 30 MiB, as a guest may hand over, the heap of each thread keeps 60 MiB at its end, where no trim
/// reaches. Blocks of less than 4 MiB are as cheap as before.
#[cfg(target_env = "gnu")]
pub(crate) fn bound_heap() {
    // SAFETY: both take the allocator's own locks and set a number.
    let bounded = unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) == 1 && libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE) == 1
    };
    if !bounded {
        tracing::warn!(
            "the heap's bounds could not be set: memory of large blocks may stay with the process"
        );
    }
}

/// Other allocators than glibc's have bounds of their own.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn bound_heap() {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use super::*;

    #[test]
    fn requests_are_gathered_and_followed_by_late_trims() {
        const LATE: &[Duration] = &[Duration::from_millis(300), Duration::from_millis(100)];
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static TRIMS: Trims = Trims::new(Duration::from_millis(50), LATE, || {
            COUNT.fetch_add(1, Ordering::SeqCst);
        });
        let until = |count: u32| {
            let begun = Instant::now();
            while COUNT.load(Ordering::SeqCst) < count || TRIMS.state().is_running {
                assert!(begun.elapsed() < Duration::from_mins(1), "{count} trims");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        for _ in 0..100 {
            TRIMS.ask();
        }
        until(3);
        assert_eq!(
            COUNT.load(Ordering::SeqCst),
            3,
            "one for all of them and two late ones"
        );
        // Its thread has ended, and the next request gets another one.
        TRIMS.ask();
        until(6);
        assert_eq!(COUNT.load(Ordering::SeqCst), 6);
    }
}
