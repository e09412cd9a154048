//! Background loops: started by name, stopped together, and not ended by a panic.
//!
//! A panic ends only its run: it is logged and counted, and the loop continues after a pause. A loop that
//! must not be cut off watches its token. Every loop is listed with its interval ([`Background::schedules`]),
//! for display. Bounds: pauses between restarts grow from 1 s to 60 s; after a minute without a panic they
//! start again at 1 s.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use qm_kernel::next_beat;
use qm_lanes::IgnorePoison;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The loops of one server. Clones are handles to the same ones.
#[derive(Clone)]
pub struct Background {
    stop: CancellationToken,
    tasks: TaskTracker,
    runs: IntCounterVec,
    panics: IntCounterVec,
    /// Module that the loops of this handle belong to.
    module: &'static str,
    listed: Arc<Mutex<BTreeMap<&'static str, Listed>>>,
}

/// A background loop as lists show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: &'static str,
    /// Interval between two looks for something to do.
    pub interval: Duration,
    /// Module that it belongs to, as clients know it: `torrents`, say.
    pub module: &'static str,
}

/// Module of loops that belong to no area of their own.
const SYSTEM: &str = "system";

impl Background {
    /// Counts runs and panics in `metrics`.
    pub fn new(metrics: &Registry) -> Result<Self, prometheus::Error> {
        let runs = Opts::new(
            "quartermaster_loop_runs_total",
            "Runs of a background loop that were begun.",
        );
        let panics = Opts::new(
            "quartermaster_loop_panics_total",
            "Runs of a background loop that panicked.",
        );
        let runs = IntCounterVec::new(runs, &["loop"])?;
        let panics = IntCounterVec::new(panics, &["loop"])?;
        metrics.register(Box::new(runs.clone()))?;
        metrics.register(Box::new(panics.clone()))?;
        Ok(Self {
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            runs,
            panics,
            module: SYSTEM,
            listed: Arc::default(),
        })
    }

    /// Handle whose loops are listed as those of a module.
    #[must_use]
    pub fn for_module(&self, module: &'static str) -> Self {
        Self {
            module,
            ..self.clone()
        }
    }

    /// Every loop, by name; several of one name are one.
    pub fn schedules(&self) -> Vec<Listed> {
        let listed = self.listed.lock().ignore_poison();
        listed.values().copied().collect()
    }

    /// Lists a loop that its owner starts by itself, with [`Background::supervised`].
    pub fn list(&self, name: &'static str, interval: Duration) {
        let mut listed = self.listed.lock().ignore_poison();
        let entry = Listed {
            name,
            interval,
            module: self.module,
        };
        listed.insert(name, entry);
    }

    /// Cancelled when the server stops.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs `work` at once and then every `interval`, until the server stops. A run that takes longer than the interval
    /// delays the next one, it is not overlapped. A run under way when the server stops is dropped at its next await.
    pub fn every<F>(
        &self,
        name: &'static str,
        interval: Duration,
        mut work: impl FnMut() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.list(name, interval);
        let watch = self.watch(name);
        let stop = self.stop.clone();
        self.spawn(name, async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                let run = watch.run(&mut work);
                // A run that panicked is tried again with the next tick.
                if stop.run_until_cancelled(run).await.is_none() {
                    break;
                }
            }
        });
    }

    /// Runs what `make` makes until it ends by itself or the server stops. After a panic another one is made, following
    /// a pause. The future is handed the token and is expected to end soon after it is cancelled; how often it looks for
    /// something to do is `interval`, which only lists show.
    pub fn supervise<F>(
        &self,
        name: &'static str,
        interval: Duration,
        make: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.list(name, interval);
        self.spawn(name, self.clone().supervised(name, self.stop.clone(), make));
    }

    /// The future that [`Background::supervise`] spawns, for callers that keep their tasks themselves and stop them one
    /// by one.
    pub async fn supervised<F>(
        self,
        name: &'static str,
        stop: CancellationToken,
        mut make: impl FnMut(CancellationToken) -> F,
    ) where
        F: Future<Output = ()>,
    {
        let watch = self.watch(name);
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            let ended = watch.run(&mut || make(stop.clone())).await;
            if ended.is_ok() || stop.is_cancelled() {
                return;
            }
            if begun.elapsed() >= LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            if stop
                .run_until_cancelled(tokio::time::sleep(pause))
                .await
                .is_none()
            {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Tells every loop to stop and waits until all have.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        // A target and a level of its own: whatever is filtered out of the logs, the lines that stay name their loop.
        let span = tracing::error_span!(target: "loop", "loop", loop.name = name);
        self.tasks.spawn(task.instrument(span));
    }

    fn watch(&self, name: &'static str) -> Watch {
        Watch {
            name,
            runs: self.runs.with_label_values(&[name]),
            panics: self.panics.with_label_values(&[name]),
        }
    }
}

/// Name and counters of a loop.
struct Watch {
    name: &'static str,
    runs: IntCounter,
    panics: IntCounter,
}

/// Marker of a run that panicked.
struct Panicked;

impl Watch {
    async fn run<F: Future<Output = ()>>(&self, work: &mut impl FnMut() -> F) -> Result<(), Panicked> {
        self.runs.inc();
        // The call itself may panic too, before there is a future.
        let run = AssertUnwindSafe(async { work().await }).catch_unwind();
        run.await.map_err(|panic| {
            self.panics.inc();
            tracing::error!(
                loop.name = self.name,
                panic = panic_text(panic.as_ref()),
                "a background loop panicked and goes on after a pause"
            );
            Panicked
        })
    }
}

/// Ticks of one loop: the first at once, the others at the instants shared by all loops ([`next_beat`]), so
/// that an idle server wakes seldom. A tick that a long run missed is skipped.
pub struct Beats {
    interval: Duration,
    begun: bool,
}

impl Beats {
    /// `interval`: a multiple of [`BEAT`](qm_kernel::BEAT).
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            begun: false,
        }
    }

    /// Returns at the next tick. Dropping the future loses no tick.
    pub async fn next(&mut self) {
        if self.begun {
            let now = Instant::now().into_std();
            tokio::time::sleep_until(next_beat(now, self.interval).into()).await;
        }
        self.begun = true;
    }
}

/// Message of a caught panic, if it has one.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn loops() -> Background {
        Background::new(&Registry::new()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_periodic_loop_survives_its_panics_and_stops_when_told() {
        let loops = loops();
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        loops.every("clockwork", Duration::from_mins(1), move || {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            // Every other run panics, once before there is a future and then within it.
            assert_ne!(run, 1, "before");
            async move { assert_ne!(run, 3, "within") }
        });
        tokio::time::sleep(Duration::from_secs(5 * 60 + 1)).await;
        assert_eq!(runs.load(Ordering::SeqCst), 6);
        assert_eq!(loops.panics.with_label_values(&["clockwork"]).get(), 2);
        loops.shutdown().await;
        tokio::time::sleep(Duration::from_mins(10)).await;
        assert_eq!(runs.load(Ordering::SeqCst), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn restarts_come_after_growing_pauses() {
        let loops = loops();
        let begun = Instant::now();
        let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
        loops.supervise("fragile", LONGEST_PAUSE, move |_| {
            let said = said.clone();
            async move {
                said.send(begun.elapsed().as_secs()).unwrap();
                panic!("again");
            }
        });
        let mut at = Vec::new();
        for _ in 0..9 {
            at.extend(heard.recv().await);
        }
        assert_eq!(at, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        loops.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_of_health_makes_the_pause_short_again() {
        let loops = loops();
        let begun = Instant::now();
        let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
        loops.supervise("slow", LONGEST_PAUSE, move |_| {
            let said = said.clone();
            async move {
                said.send(begun.elapsed().as_secs()).unwrap();
                tokio::time::sleep(LONGEST_PAUSE).await;
                panic!("after a minute");
            }
        });
        let mut at = Vec::new();
        for _ in 0..4 {
            at.extend(heard.recv().await);
        }
        assert_eq!(at, [0, 61, 122, 183]);
        loops.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_ends_by_itself_is_not_begun_again() {
        let loops = loops();
        loops.supervise("short", LONGEST_PAUSE, |_| async {});
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(loops.runs.with_label_values(&["short"]).get(), 1);
        loops.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stopping_server_waits_for_a_loop_that_ends_in_order() {
        let loops = loops();
        let ended = Arc::new(AtomicU32::new(0));
        let last = ended.clone();
        loops.supervise("orderly", FIRST_PAUSE, move |stop| {
            let last = last.clone();
            async move {
                stop.cancelled().await;
                tokio::time::sleep(Duration::from_secs(2)).await;
                last.fetch_add(1, Ordering::SeqCst);
            }
        });
        tokio::task::yield_now().await;
        loops.shutdown().await;
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        loops.for_module("torrents").list("by itself", LONGEST_PAUSE);
        let listed = [
            ("by itself", LONGEST_PAUSE, "torrents"),
            ("orderly", FIRST_PAUSE, SYSTEM),
        ];
        let listed = listed.map(|(name, interval, module)| Listed {
            name,
            interval,
            module,
        });
        assert_eq!(loops.schedules(), listed);
    }
}
