//! Run of one call to its end, and failures that are held against its lane: the same for instances that stay
//! (`lane`) and for those made for one call (`role_calls`).

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_net::{Grants, unless_silent};
use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::memory::Account;
use qm_plugin_guest::meter::Meter;
use qm_plugin_guest::services::{CallContext, Rights};
use qm_plugin_guest::state::{Bounds, State};
use qm_plugin_guest::voice::{Secrets, Voice, one_line};
use serde_json::{Map, Value};
use tokio::time::Instant;
use wasmtime::{Store, Trap};

use crate::core::config_backoff::ConfigBackoff;
use crate::core::fault::Fault;
use crate::core::load::{Loaded, reason};
use crate::core::runtime::{Runtime, Tenant};
use crate::core::slot::{Counters, LaneStats, Slot};
use crate::core::status::LaneState;
use crate::core::supervisor::{Admission, Supervisor};

/// Time limit on a call's waiting for its turn.
pub(crate) const QUEUED: Duration = Duration::from_secs(30);

/// Between a product's silence and the end of the call.
const PARTING: Duration = Duration::from_secs(10);

/// The record of one lane: whose it is, how often it failed, whether it may try again.
pub(crate) struct LaneRecord {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) stats: Arc<LaneStats>,
    /// Blotted out of its logs beside what the schema calls secret.
    pub(crate) secrets: Arc<[String]>,
    supervisor: Supervisor,
    /// Failures of calls with a person's configuration: they are that person's.
    config_backoff: ConfigBackoff,
    /// The next instance replaces one that failed.
    replace: bool,
}

/// End of a call, as far as the instance is concerned.
pub(crate) enum End<T> {
    /// With the plugin's word, good or bad.
    Well(T),
    Trapped(wasmtime::Error),
    /// A function of the host failed under it.
    Panicked(String),
    /// Not a byte moved for so long.
    Silent(Duration),
    /// Bytes moved, but it took longer than this.
    TooLong(Duration),
}

/// Facts that the store of an ended call has about the reason.
pub(crate) struct Traces {
    cpu: bool,
    /// The reason why it was refused memory.
    memory: Option<String>,
    last_error: Option<String>,
    account: Arc<Account>,
}

impl Traces {
    pub(crate) fn read(state: &mut State) -> Self {
        Witness::new(state).traces()
    }

    /// Why it trapped, as a sentence.
    pub(crate) fn cause(self, trap: &wasmtime::Error, limits: &Limits) -> String {
        if self.cpu {
            return format!("it computed for more than {} in one call", seconds(limits.cpu));
        }
        let cause = || match trap.downcast_ref::<Trap>() {
            Some(trap) => trap.to_string(),
            None if is_too_much(trap) => format!(
                "it handed over more at once than the {} MiB of a call or the {} MiB of an answer, or than its {} MiB of memory leave room for",
                limits.argument_bytes >> 20,
                limits.transfer_bytes >> 20,
                limits.memory_bytes >> 20
            ),
            None => said_without_backtrace(trap),
        };
        self.memory.or(self.last_error).unwrap_or_else(cause)
    }
}

/// Parts that outlive the store of a call and know how it ended.
pub(crate) struct Witness {
    meter: Arc<Meter>,
    account: Arc<Account>,
    voice: Voice,
}

impl Witness {
    pub(crate) fn new(state: &State) -> Self {
        Self {
            meter: state.meter.clone(),
            account: state.account.clone(),
            voice: state.voice.clone(),
        }
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Settles with the voice, so once a call.
    pub(crate) fn traces(&self) -> Traces {
        Traces {
            cpu: self.meter.is_over(),
            memory: self.account.refused(),
            last_error: self.voice.settle(),
            account: self.account.clone(),
        }
    }
}

impl LaneRecord {
    /// `id` is that of what is configured (an engine); empty when the lane serves all.
    pub(crate) fn new(runtime: Arc<Runtime>, slot: Arc<Slot>, id: &str, lane: &'static str) -> Self {
        let stats = LaneStats::new(id, lane);
        slot.add_lane(&stats);
        let (strikes, back_off) = (runtime.limits.strikes, runtime.limits.back_off);
        let supervisor = Supervisor::new(strikes, back_off);
        Self {
            config_backoff: ConfigBackoff::new(strikes, back_off),
            runtime,
            slot,
            stats,
            secrets: Arc::default(),
            supervisor,
            replace: false,
        }
    }

    /// Tells whether a call may be tried; `person` stands for the configuration of one, where that is whose it is.
    pub(crate) fn admit(&self, person: Option<u64>) -> Result<(), Fault> {
        let now = Instant::now();
        if let Some(person) = person {
            return self.config_backoff.admit(person, now).map_err(|(left, why)| {
                Fault::Failed(format!("{why}; it is tried again in {} s", left.as_secs() + 1))
            });
        }
        let why = self.supervisor.reason().unwrap_or_default();
        match self.supervisor.admit(now) {
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
        context: CallContext,
    ) -> Result<Store<State>, Fault> {
        let schema = context.schema.as_deref().unwrap_or(&code.about.config_schema);
        let mut grants = Grants::from_config(schema, config).map_err(Fault::InvalidConfig)?;
        if context.of_a_person.is_some() {
            grants = grants.outward();
        }
        let own = self.slot.granted_to(code);
        let grants = grants.with_origins(own.hosts.iter().map(String::as_str));
        let rights = Rights {
            capabilities: own.capabilities,
            keeps_values: code.role.keeps_values(),
            torrent: context.torrent,
            powers: context.powers,
            keep_shared: context.keep_shared,
            patience: context.patience,
        };
        let mut secrets = context.secrets;
        secrets.extend_from_slice(&self.secrets);
        if std::mem::take(&mut self.replace) {
            self.count(|counters| &counters.restarts);
        }
        Ok(self.runtime.store(Tenant {
            plugin: &self.slot.id,
            owner: &self.stats.owner,
            lane: self.stats.lane,
            first_party: code.first_party,
            grants,
            rights,
            secrets: Secrets::gather(schema, config, &secrets),
            log_dropped: self.slot.log_dropped.clone(),
            refusals: self.slot.refusals.clone(),
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
        self.stats.set(LaneState::Running, self.reason());
        self.count(|counters| &counters.calls);
    }

    /// Holds the end of a call against the lane, or the person whose configuration it was, or in their favour.
    pub(crate) fn judge<T>(&mut self, end: End<T>, traces: Traces, person: Option<u64>) -> Result<T, Fault> {
        match end {
            End::Well(word) => {
                self.supervisor.well(Instant::now());
                if let Some(person) = person {
                    self.config_backoff.well(person);
                }
                Ok(word)
            }
            End::Trapped(trap) => Err(self.trapped(&trap, traces, person)),
            End::Panicked(why) => {
                let text = format!("a function of the host failed: {why}");
                Err(self.trapped(&wasmtime::Error::msg(text), traces, person))
            }
            End::Silent(limit) => {
                traces.account.ended_badly();
                Err(self.cut_off(format!("no answer within {}", seconds(limit)), true, person))
            }
            End::TooLong(limit) => {
                traces.account.ended_badly();
                // A product that trickles is not the plugin's fault.
                Err(self.cut_off(format!("not done within {}", seconds(limit)), false, person))
            }
        }
    }

    /// The instance is dead: counts it, words it, and says so in the log.
    fn trapped(&mut self, trap: &wasmtime::Error, traces: Traces, person: Option<u64>) -> Fault {
        self.count(|counters| &counters.traps);
        traces.account.ended_badly();
        let why = traces.cause(trap, &self.runtime.limits);
        let (plugin, owner, lane) = (&self.slot.id, &self.stats.owner, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, owner, lane, backtrace = %reason(trap), "the instance failed: {why}");
        self.replace = true;
        self.strike(&why, person);
        Fault::Failed(why)
    }

    /// The call's time ran out, which costs the instance too.
    pub(crate) fn cut_off(&mut self, why: String, strike: bool, person: Option<u64>) -> Fault {
        self.count(|counters| &counters.timeouts);
        let (plugin, owner, lane) = (&self.slot.id, &self.stats.owner, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, owner, lane, "the instance was replaced: {why}");
        self.replace = true;
        if strike {
            self.strike(&why, person);
        }
        Fault::TimedOut(why)
    }

    fn strike(&mut self, why: &str, person: Option<u64>) {
        let now = Instant::now();
        match person {
            Some(person) => self.config_backoff.strike(person, now, why),
            None => self.supervisor.strike(now, why.to_owned()),
        }
    }

    /// Other code is in use: what was held against the old one goes.
    pub(crate) fn revive(&mut self) {
        self.supervisor.revive();
        self.config_backoff.revive();
        self.replace = false;
    }

    fn count(&self, which: fn(&Counters) -> &AtomicU64) {
        which(&self.stats.counters).fetch_add(1, Relaxed);
        which(&self.slot.totals).fetch_add(1, Relaxed);
    }

    /// The last failure that speaks against the plugin.
    fn reason(&self) -> Option<&str> {
        self.supervisor.reason().or_else(|| self.config_backoff.reason())
    }

    /// Tells the status how the lane stands between calls.
    pub(crate) fn show(&self, warm: bool) {
        let now = Instant::now();
        let state = match self.supervisor.admit(now) {
            Admission::Free if self.config_backoff.all_wait(now) => LaneState::BackingOff,
            Admission::Parked => LaneState::Parked,
            Admission::Later(_) => LaneState::BackingOff,
            Admission::Free if warm => LaneState::Ready,
            Admission::Free => LaneState::Idle,
        };
        self.stats.set(state, self.reason());
    }
}

/// Runs `work` to its end within the limits. The caller has begun the call in the instance's state.
pub(crate) async fn drive<T>(
    runtime: &Runtime,
    bounds: Bounds,
    total: Duration,
    work: impl Future<Output = wasmtime::Result<T>>,
) -> End<T> {
    // The plugin gets to say what happened.
    let patience = bounds.patience.map(|patience| patience + PARTING);
    let silence = runtime.limits.silence.max(patience.unwrap_or_default());
    let _ticking = runtime.ticking();
    // A panic in a function of the host leaves the instance as dead as a trap does, and nothing else was shared with it.
    let work = AssertUnwindSafe(bounds.meter.measure(work)).catch_unwind();
    match tokio::time::timeout(total, unless_silent(silence, &bounds.progress, work)).await {
        Ok(Ok(Ok(Ok(word)))) => End::Well(word),
        Ok(Ok(Ok(Err(trap)))) => End::Trapped(trap),
        Ok(Ok(Err(panic))) => End::Panicked(panic_text(&*panic)),
        Ok(Err(_)) => End::Silent(silence),
        Err(_) => End::TooLong(total),
    }
}

/// Text of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    const MAX: usize = 200;
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    one_line(said.unwrap_or("it did not say why"), MAX)
}

/// The message of an import's error with its causes. The backtrace before them is for the log.
fn said_without_backtrace(trap: &wasmtime::Error) -> String {
    const MAX: usize = 600;
    let words = trap.chain().map(ToString::to_string);
    let words: Vec<_> = words
        .filter(|text| !text.starts_with("error while executing at wasm backtrace"))
        .collect();
    one_line(&words.join(": "), MAX)
}

/// Tells whether what a guest handed over was more than `Runtime::store` allows it. The library's error has no type to ask for.
fn is_too_much(trap: &wasmtime::Error) -> bool {
    trap.root_cause()
        .to_string()
        .contains("fuel allocated for hostcalls")
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use wasmtime::{Linker, Module};

    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_host_function_is_the_end_of_its_call_alone() {
        let runtime = Runtime::of_test(Limits::default());
        let mut store = runtime.store_of_test(Arc::default());
        let text = r#"(module (import "h" "boom" (func $boom)) (func (export "run") (call $boom)))"#;
        let module = Module::new(&runtime.engine, wat::parse_str(text).unwrap()).unwrap();
        let mut linker = Linker::new(&runtime.engine);
        let boom = || -> () { panic!("the map is\nfull") };
        linker.func_wrap("h", "boom", boom).unwrap();
        let instance = linker.instantiate_async(&mut store, &module).await.unwrap();
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
        let bounds = store.data().bounds();
        let end = drive(
            &runtime,
            bounds,
            Duration::from_secs(5),
            run.call_async(&mut store, ()),
        )
        .await;
        let traces = Traces::read(store.data_mut());
        let mut record = LaneRecord::new(runtime, Slot::new("p"), "e", "sync");
        let fault = record.judge(end, traces, None).unwrap_err();
        assert_eq!(
            fault,
            Fault::Failed("a function of the host failed: the map is full".to_owned())
        );
        assert_eq!(record.admit(None), Ok(()), "the first failure costs no pause");
    }
}
