//! How one call is driven to its end, and what is held against the lane that ran it: the same for instances that stay
//! (`lane`) and for those made for one call (`fresh`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use qm_net::{Grants, unless_silent};
use serde_json::{Map, Value};
use tokio::time::Instant;
use wasmtime::{Store, Trap};

use crate::core::fault::Fault;
use crate::core::load::{Loaded, reason};
use crate::core::runtime::{Runtime, Tenant};
use crate::core::slot::{Counters, LaneStats, Slot};
use crate::core::state::State;
use crate::core::status::LaneState;
use crate::core::supervisor::{Admission, Supervisor};
use crate::core::voice::Secrets;

/// The record of one lane: whose it is, how often it failed, whether it may try again.
pub(crate) struct Conduct {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) stats: Arc<LaneStats>,
    supervisor: Supervisor,
    /// The next instance replaces one that failed.
    replace: bool,
}

/// How a call ended, as far as the instance is concerned.
pub(crate) enum End<T> {
    /// With the plugin's word, good or bad.
    Well(T),
    Trapped(wasmtime::Error),
    /// Not a byte moved for so long.
    Silent(Duration),
    /// Bytes moved, but it took longer than this.
    TooLong(Duration),
}

/// What the store of an ended call knows of the reason.
pub(crate) struct Traces {
    cpu: bool,
    memory: bool,
    last_error: Option<String>,
}

impl Traces {
    pub(crate) fn of(state: &mut State) -> Self {
        Self {
            cpu: state.cpu.is_spent(),
            memory: state.memory.denied,
            last_error: state.voice.settle(),
        }
    }

    /// Only what it said is known.
    pub(crate) fn said(last_error: Option<String>) -> Self {
        Self {
            cpu: false,
            memory: false,
            last_error,
        }
    }
}

impl Conduct {
    /// `id` is that of what is configured (an engine); empty when the lane serves all.
    pub(crate) fn new(runtime: Arc<Runtime>, slot: Arc<Slot>, id: &str, lane: &'static str) -> Self {
        let stats = LaneStats::new(id, lane);
        slot.add_lane(&stats);
        let supervisor = Supervisor::new(runtime.limits.strikes, runtime.limits.back_off);
        Self {
            runtime,
            slot,
            stats,
            supervisor,
            replace: false,
        }
    }

    pub(crate) fn admit(&self) -> Result<(), Fault> {
        let why = self.supervisor.reason().unwrap_or_default();
        match self.supervisor.admit(Instant::now()) {
            Admission::Free => Ok(()),
            Admission::Later(left) => Err(Fault::Failed(format!(
                "{why}; it is tried again in {} s",
                left.as_secs() + 1
            ))),
            Admission::Parked => Err(Fault::Failed(format!(
                "{why}; it failed {} times and was parked until the plugin is reloaded or its configuration changed",
                self.runtime.limits.strikes
            ))),
        }
    }

    /// A store for an instance of `code` that may dial what `config` names.
    pub(crate) fn store(
        &mut self,
        code: &Loaded,
        config: &Map<String, Value>,
    ) -> Result<Store<State>, Fault> {
        let schema = &code.about.config_schema;
        let grants = Grants::from_config(schema, config).map_err(Fault::InvalidConfig)?;
        if std::mem::take(&mut self.replace) {
            self.count(|counters| &counters.restarts);
        }
        Ok(self.runtime.store(Tenant {
            plugin: &self.slot.id,
            owner: &self.stats.owner,
            lane: self.stats.lane,
            grants,
            secrets: Secrets::of(schema, config),
            log_dropped: self.slot.log_dropped.clone(),
            memory: self.stats.memory.clone(),
        }))
    }

    /// No plugin provides it any more.
    pub(crate) fn missing(&self) -> Fault {
        Fault::Missing(format!(
            "the plugin that provides `{}` is no longer installed",
            self.slot.id
        ))
    }

    /// A call is about to run.
    pub(crate) fn begin(&self) {
        self.stats.set(LaneState::Running, self.supervisor.reason());
        self.count(|counters| &counters.calls);
    }

    /// Holds the end of a call against the lane, or in its favour.
    pub(crate) fn judge<T>(&mut self, end: End<T>, traces: Traces) -> Result<T, Fault> {
        match end {
            End::Well(word) => {
                self.supervisor.well(Instant::now());
                Ok(word)
            }
            End::Trapped(trap) => Err(self.trapped(&trap, traces)),
            End::Silent(limit) => Err(self.cut_off(format!("no answer within {}", seconds(limit)), true)),
            // A product that trickles is not the plugin's fault.
            End::TooLong(limit) => Err(self.cut_off(format!("not done within {}", seconds(limit)), false)),
        }
    }

    /// The instance is dead: counts it, words it, and says so in the log.
    pub(crate) fn trapped(&mut self, trap: &wasmtime::Error, traces: Traces) -> Fault {
        self.count(|counters| &counters.traps);
        let limits = &self.runtime.limits;
        let why = if traces.cpu {
            format!("it computed for more than {} in one call", seconds(limits.cpu))
        } else if traces.memory {
            format!("it ran out of its {} MiB of memory", limits.memory_bytes >> 20)
        } else {
            let cause = || match trap.downcast_ref::<Trap>() {
                Some(trap) => trap.to_string(),
                None => reason(trap),
            };
            traces.last_error.unwrap_or_else(cause)
        };
        let (plugin, owner, lane) = (&self.slot.id, &self.stats.owner, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, owner, lane, backtrace = %reason(trap), "the instance failed: {why}");
        self.replace = true;
        self.supervisor.strike(Instant::now(), why.clone());
        Fault::Failed(why)
    }

    /// The call's time ran out, which costs the instance too.
    pub(crate) fn cut_off(&mut self, why: String, strike: bool) -> Fault {
        self.count(|counters| &counters.timeouts);
        let (plugin, owner, lane) = (&self.slot.id, &self.stats.owner, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, owner, lane, "the instance was replaced: {why}");
        self.replace = true;
        if strike {
            self.supervisor.strike(Instant::now(), why.clone());
        }
        Fault::TimedOut(why)
    }

    /// Other code is in use: what was held against the old one goes.
    pub(crate) fn revive(&mut self) {
        self.supervisor.revive();
        self.replace = false;
    }

    fn count(&self, which: fn(&Counters) -> &AtomicU64) {
        which(&self.stats.counters).fetch_add(1, Relaxed);
        which(&self.slot.totals).fetch_add(1, Relaxed);
    }

    /// Tells the status how the lane stands between calls.
    pub(crate) fn show(&self, warm: bool) {
        let state = match self.supervisor.admit(Instant::now()) {
            Admission::Parked => LaneState::Parked,
            Admission::Later(_) => LaneState::BackingOff,
            Admission::Free if warm => LaneState::Ready,
            Admission::Free => LaneState::Idle,
        };
        self.stats.set(state, self.supervisor.reason());
    }
}

/// Runs `work` to its end within the limits. The caller has begun the call in the instance's state.
pub(crate) async fn drive<T>(
    runtime: &Runtime,
    progress: qm_net::Progress,
    total: Duration,
    work: impl Future<Output = wasmtime::Result<T>>,
) -> End<T> {
    let silence = runtime.limits.silence;
    let _ticking = runtime.ticking();
    match tokio::time::timeout(total, unless_silent(silence, &progress, work)).await {
        Ok(Ok(Ok(word))) => End::Well(word),
        Ok(Ok(Err(trap))) => End::Trapped(trap),
        Ok(Err(_)) => End::Silent(silence),
        Err(_) => End::TooLong(total),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
