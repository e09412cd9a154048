//! A lane: its bounds, its threads, its counters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use crate::cancel::{self, Cancel};
use crate::places::{Holder, Places, Queued};
use crate::who::{Who, for_whom};
use crate::work::{Answer, Work};
use crate::{IDLE, IgnorePoison};

/// Default waiting time for a place before work is refused.
const PATIENCE: Duration = Duration::from_secs(20);

/// Limits of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Number of concurrent pieces of work, and so of threads.
    pub places: usize,
    /// Number of these places for one user.
    pub of_one: usize,
    /// Length of the queue.
    pub waiting: usize,
    /// Number of these queue entries for one user.
    pub waiting_of_one: usize,
    /// Waiting time after which work is refused. Work of the service itself waits without limit.
    pub patience: Duration,
}

impl Bounds {
    /// One user may take three quarters of the places, and half of the queue.
    pub const fn new(places: usize, waiting: usize) -> Self {
        Self {
            places,
            of_one: at_least_one(places * 3 / 4),
            waiting,
            waiting_of_one: at_least_one(waiting / 2),
            patience: PATIENCE,
        }
    }

    /// The same limits with other shares of one user.
    pub const fn of_one(self, places: usize, waiting: usize) -> Self {
        Self {
            of_one: places,
            waiting_of_one: waiting,
            ..self
        }
    }
}

const fn at_least_one(share: usize) -> usize {
    if share == 0 { 1 } else { share }
}

/// Reason why work was not done, or not completed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// Name of the lane.
    #[error("Too much of this is being done already (`{0}`): try again in some seconds")]
    Full(&'static str),
    #[error("The service is ending")]
    Stopped,
    /// Message of the panic.
    #[error("the work failed: {0}")]
    Panicked(String),
}

/// A lane with its own threads, started on demand.
pub struct Lane {
    name: &'static str,
    bounds: Bounds,
    shared: OnceLock<Arc<Shared>>,
}

impl Lane {
    /// `name`: the area, a dot, and the kind of work.
    pub const fn new(name: &'static str, bounds: Bounds) -> Self {
        Self {
            name,
            bounds,
            shared: OnceLock::new(),
        }
    }

    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Runs work on behalf of the task's user. Work that has not begun when the future is dropped never
    /// begins.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<T, LaneError> {
        self.start(work)?.await
    }

    /// Runs work on behalf of `who`; `None` is the service itself.
    pub async fn run_for<T: Send + 'static>(
        &self,
        who: Option<Who>,
        work: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<T, LaneError> {
        self.start_for(who, work)?.await
    }

    /// Starts work at once, or as soon as a place is free. Dropping the result cancels it.
    pub fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<Work<T>, LaneError> {
        self.start_for(for_whom(), work)
    }

    /// Starts work of the service itself without waiting for it; `false` when there is no place.
    pub fn begin(&self, work: impl FnOnce(Cancel) + Send + 'static) -> bool {
        self.start_for(None, work).map(Work::detach).is_ok()
    }

    /// Starts work on behalf of `who`; `None` is the service itself.
    pub fn start_for<T: Send + 'static>(
        &self,
        who: Option<Who>,
        work: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<Work<T>, LaneError> {
        let shared = self.shared();
        let ticket = shared.tickets.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel::default();
        let (answer, answered) = Answer::new();
        let (of_work, for_work, at) = (cancel.clone(), answer.clone(), shared.clone());
        let span = tracing::Span::current();
        // Work that stores something in the database needs the runtime it was started from.
        let runtime = tokio::runtime::Handle::try_current().ok();
        let run = move || {
            let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
            let done = caught(|| span.in_scope(|| work(of_work)));
            // Freed first, because the receiver of the answer may look at the counts.
            at.lock().free(ticket);
            for_work.give(done);
        };
        let queued = Queued {
            ticket,
            who: Holder(who.clone()),
            work: Box::new(run),
            waiter: answer,
        };
        shared.take_in(queued)?;
        let patience = who.map(|_| self.bounds.patience);
        Ok(Work::new(shared.clone(), ticket, cancel, answered, patience))
    }

    /// Present and refused work.
    pub fn count(&self) -> Count {
        self.shared().count()
    }

    fn shared(&self) -> &Arc<Shared> {
        self.shared.get_or_init(|| {
            let shared = Arc::new(Shared {
                name: self.name,
                bounds: self.bounds,
                places: Mutex::new(Places::new()),
                asked: Condvar::new(),
                tickets: AtomicU64::new(0),
            });
            let mut known = known();
            known.retain(|lane| lane.strong_count() > 0);
            known.push(Arc::downgrade(&shared));
            shared
        })
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> MutexGuard<'_, Places> {
        self.shared().lock()
    }
}

/// Load of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub lane: &'static str,
    pub running: usize,
    pub waiting: usize,
    /// Refusals since the start of the process.
    pub refused: u64,
}

/// Load of every used lane of the process, by name; lanes with one name are summed.
pub fn counts() -> Vec<Count> {
    let lanes: Vec<Arc<Shared>> = known().iter().filter_map(Weak::upgrade).collect();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for count in lanes.iter().map(|lane| lane.count()) {
        let all = counts.entry(count.lane).or_insert(Count {
            running: 0,
            waiting: 0,
            refused: 0,
            ..count
        });
        all.running += count.running;
        all.waiting += count.waiting;
        all.refused += count.refused;
    }
    counts.into_values().collect()
}

/// Ends all lanes of the process: waiting callers get [`LaneError::Stopped`], and hanging threads are left
/// alone.
pub fn end() {
    cancel::end_all();
    let lanes: Vec<Arc<Shared>> = known().iter().filter_map(Weak::upgrade).collect();
    for lane in lanes {
        lane.send_all_away();
    }
}

static KNOWN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Weak<Shared>>> {
    KNOWN.lock().ignore_poison()
}

/// State shared by a lane and its threads.
pub(crate) struct Shared {
    name: &'static str,
    bounds: Bounds,
    places: Mutex<Places>,
    asked: Condvar,
    tickets: AtomicU64,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().ignore_poison()
    }

    pub(crate) fn full(&self) -> LaneError {
        LaneError::Full(self.name)
    }

    fn count(&self) -> Count {
        let places = self.lock();
        Count {
            lane: self.name,
            running: places.running.len(),
            waiting: places.queue.len(),
            refused: places.refused,
        }
    }

    fn take_in(self: &Arc<Self>, queued: Queued) -> Result<(), LaneError> {
        let ticket = queued.ticket;
        let mut places = self.lock();
        // Under the lock: a concurrent end finds it in the queue.
        if cancel::is_ending() {
            return Err(LaneError::Stopped);
        }
        if !places.admits(&queued.who, &self.bounds) {
            places.refused += 1;
            return Err(self.full());
        }
        places.push(queued);
        if places.queue.len() <= places.idle || places.threads >= self.bounds.places {
            self.asked.notify_one();
            return Ok(());
        }
        places.threads += 1;
        drop(places);
        let lane = self.clone();
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        if thread.spawn(move || lane.work()).is_ok() {
            return Ok(());
        }
        let mut places = self.lock();
        places.threads -= 1;
        // Existing threads will take it, if there are any.
        if places.threads == 0 && places.withdraw(ticket).is_some() {
            places.refused += 1;
            return Err(self.full());
        }
        Ok(())
    }

    /// Main loop of a thread.
    fn work(&self) {
        let mut places = self.lock();
        loop {
            if let Some(next) = places.next(&self.bounds) {
                drop(places);
                // Dropping an unwanted result may panic.
                let _ = caught(next.work);
                places = self.lock();
                continue;
            }
            places.idle += 1;
            let (woken, waited) = self.asked.wait_timeout(places, IDLE).ignore_poison();
            places = woken;
            places.idle -= 1;
            if waited.timed_out() && places.queue.is_empty() {
                places.threads -= 1;
                return;
            }
        }
    }

    /// Removes work that has not begun; `false` if it has.
    pub(crate) fn withdraw(&self, ticket: u64, is_refused: bool) -> bool {
        let mut places = self.lock();
        let withdrawn = places.withdraw(ticket);
        places.refused += u64::from(is_refused && withdrawn.is_some());
        drop(places);
        // The work is dropped here, outside of the lock.
        withdrawn.is_some()
    }

    fn send_all_away(&self) {
        let mut places = self.lock();
        let waiting = std::mem::take(&mut places.queue);
        let running: Vec<_> = places
            .running
            .values()
            .map(|(_, waiter)| waiter.clone())
            .collect();
        drop(places);
        for waiter in waiting.iter().map(|queued| &queued.waiter).chain(&running) {
            waiter.send_away();
        }
    }
}

/// Result of the work; a panic becomes an error.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, LaneError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        LaneError::Panicked(said.unwrap_or_else(|| "it panicked".to_owned()))
    })
}
