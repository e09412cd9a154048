//! The computing time of a call: the guest's own and what the host does for it, waiting apart.
//!
//! Measured, not reckoned: the clock of the thread runs while the call's future is polled, and whatever happens in there
//! (the guest's code, copying what it hands over, checking, logging, converting what it returned) is done for this guest.
//! So a byte costs what it takes to handle it. Where a call waits, its future is not polled.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// One tick of the epoch while calls run: time after which a guest that computes gives its thread back.
pub const TICK: Duration = Duration::from_millis(10);
/// The same once a guest has computed for a tick, for as long as one does: whoever shares its thread waits no longer than this.
pub const SHORT_TICK: Duration = Duration::from_millis(1);
/// The future of the call is not being polled.
const AT_REST: u64 = u64::MAX;

/// The meter of one instance. Nanoseconds.
pub struct Meter {
    budget: u64,
    /// Time of the polls that are over.
    spent: AtomicU64,
    /// The thread's clock when the poll under way began.
    since: AtomicU64,
    over: AtomicBool,
}

/// Computing time of the calling thread since it began.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1)
}

impl Meter {
    pub fn new(budget: Duration) -> Arc<Self> {
        Arc::new(Self {
            budget: nanos(budget),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(AT_REST),
            over: AtomicBool::new(false),
        })
    }

    /// Gives the next call a budget of its own.
    pub fn begin_call(&self) {
        self.spent.store(0, Relaxed);
        self.over.store(false, Relaxed);
    }

    /// Asked by the guest's own code every tick: false once the budget is used up.
    pub fn may_go_on(&self) -> bool {
        let since = self.since.load(Relaxed);
        if since == AT_REST {
            // Nobody measures this call; it ran through a tick, so a tick it is.
            self.spent.fetch_add(nanos(TICK), Relaxed);
        }
        let running = if since == AT_REST {
            0
        } else {
            nanos(thread_time()).saturating_sub(since)
        };
        let over = self.spent.load(Relaxed).saturating_add(running) > self.budget;
        if over {
            self.over.store(true, Relaxed);
        }
        !over
    }

    /// Tells whether the call was ended because it had used its budget up.
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Runs `work` on this meter.
    pub fn measure<F: Future>(self: Arc<Self>, work: F) -> Measured<F> {
        Measured {
            meter: self,
            work: Box::pin(work),
        }
    }
}

/// A call on its meter.
pub struct Measured<F> {
    meter: Arc<Meter>,
    work: Pin<Box<F>>,
}

/// Ends a poll, also one that panics.
struct Running<'a>(&'a Meter);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let since = self.0.since.swap(AT_REST, Relaxed);
        let ran = nanos(thread_time()).saturating_sub(since);
        self.0.spent.fetch_add(ran, Relaxed);
    }
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.meter.since.store(nanos(thread_time()), Relaxed);
        let _running = Running(&this.meter);
        this.work.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute(time: Duration) {
        let until = thread_time() + time;
        while thread_time() < until {
            std::hint::spin_loop();
        }
    }

    #[tokio::test]
    async fn computing_counts_wherever_it_happens_and_waiting_does_not() {
        let meter = Meter::new(Duration::from_millis(20));
        let seen = meter.clone();
        meter
            .clone()
            .measure(async {
                tokio::time::sleep(Duration::from_millis(40)).await;
                assert!(seen.may_go_on(), "it only waited");
                compute(Duration::from_millis(15));
                assert!(seen.may_go_on());
                tokio::task::yield_now().await;
                compute(Duration::from_millis(15));
                assert!(!seen.may_go_on());
            })
            .await;
        assert!(meter.is_over());
        meter.begin_call();
        assert!(meter.may_go_on() && !meter.is_over());
    }

    #[test]
    fn what_nobody_measures_is_counted_in_ticks() {
        let meter = Meter::new(TICK * 2);
        assert_eq!([(); 3].map(|()| meter.may_go_on()), [true, true, false]);
    }
}
