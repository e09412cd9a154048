//! Calls of plugins that keep nothing: each runs in an instance of its own, so that what one person entered cannot leak
//! into the call of another. Making one costs tens of microseconds for a compiled language, half a millisecond for Python.
//!
//! Bounds: four calls of a plugin at a time, or as many as its role says, and 32 that wait (one more is answered "busy"); a wait of 30 s; per call the same silence and computing time as in a lane.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_lanes::IgnorePoison;
use qm_plugin_guest::services::CallContext;
use qm_plugin_guest::state::State;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};
use wasmtime::Store;

use crate::core::call::{LaneRecord, QUEUED, Traces, drive};
use crate::core::catalog::Catalog;
use crate::core::fault::Fault;
use crate::core::lane::Answer;
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::slot::Slot;

/// Calls of one plugin at a time, unless its role has others.
const AT_ONCE: usize = 4;

/// Configuration, context and time limit of one call.
pub struct CallSpec<'a> {
    /// Names what may be dialled.
    pub config: &'a Map<String, Value>,
    /// Facts about the call beside its configuration.
    pub context: CallContext,
    /// Time limit, although bytes move.
    pub total: Duration,
}

/// The calls of all plugins of one role.
pub struct RoleCalls {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    role: &'static str,
    lane: &'static str,
    at_once: usize,
    /// The calls of each plugin that was used, by its id.
    calls: Mutex<HashMap<String, Arc<PluginCalls>>>,
}

impl RoleCalls {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        catalog: Arc<Catalog>,
        role: &'static str,
        lane: &'static str,
    ) -> Self {
        Self {
            runtime,
            catalog,
            role,
            lane,
            at_once: AT_ONCE,
            calls: Mutex::default(),
        }
    }

    /// With so many calls of one plugin at a time.
    pub fn at_once(self, calls: usize) -> Self {
        Self {
            at_once: calls,
            ..self
        }
    }

    /// The calls of the plugin `id`; none when no plugin of the role has that id.
    pub fn of_plugin(&self, id: &str) -> Option<Arc<PluginCalls>> {
        let slot = self
            .catalog
            .slot(id)
            .filter(|slot| slot.code().is_some_and(|code| code.is_of(self.role)));
        let mut calls = self.calls.lock().ignore_poison();
        let Some(slot) = slot else {
            calls.remove(id);
            return None;
        };
        // A slot stays as long as calls hold on to it, so what is known is of this one.
        let fresh = calls.entry(id.to_owned()).or_insert_with(|| {
            Arc::new(PluginCalls::new(
                self.runtime.clone(),
                slot,
                self.lane,
                self.at_once,
            ))
        });
        Some(fresh.clone())
    }
}

/// The calls of one plugin.
pub struct PluginCalls {
    record: Mutex<LaneRecord>,
    code: Mutex<watch::Receiver<Option<Arc<Loaded>>>>,
    runtime: Arc<Runtime>,
    /// Places for calls that run.
    turns: Semaphore,
    /// Places for calls that run or wait.
    places: Semaphore,
}

impl PluginCalls {
    pub(crate) fn new(runtime: Arc<Runtime>, slot: Arc<Slot>, name: &'static str, at_once: usize) -> Self {
        Self {
            code: Mutex::new(slot.watch()),
            turns: Semaphore::new(at_once),
            places: Semaphore::new(at_once + runtime.limits.queue),
            record: Mutex::new(LaneRecord::new(runtime.clone(), slot, "", name)),
            runtime,
        }
    }

    fn record(&self) -> MutexGuard<'_, LaneRecord> {
        self.record.lock().ignore_poison()
    }

    /// The code in use; when it is another than before, what was held against the old one is forgotten.
    fn code(&self) -> Result<Arc<Loaded>, Fault> {
        let mut code = self.code.lock().ignore_poison();
        if code.has_changed().unwrap_or(false) {
            self.record().revive();
        }
        let current = code.borrow_and_update().clone();
        current.ok_or_else(|| self.record().missing())
    }

    /// Makes an instance that may dial what the configuration names, does `work` in it, and lets it go: the plugin's word, or the
    /// fault that kept it away.
    pub async fn call<T, E, F>(&self, spec: CallSpec<'_>, work: F) -> Result<Result<T, E>, Fault>
    where
        T: Send,
        E: Send,
        F: for<'a> FnOnce(&'a Loaded, &'a mut Store<State>) -> BoxFuture<'a, Answer<T, E>> + Send,
    {
        let _place = self.places.try_acquire().map_err(|_| Fault::Busy)?;
        let turn = tokio::time::timeout(QUEUED, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| Fault::Busy)?.map_err(|_| Fault::Closed)?;
        let code = self.code()?;
        let person = spec.context.of_a_person;
        let mut store = {
            let mut record = self.record();
            record.admit(person)?;
            let store = record.store(&code, spec.config, spec.context)?;
            record.begin();
            store
        };
        // Also when the caller goes away in the middle.
        let _shown = Shown(self);
        let bounds = store.data().bounds();
        let end = drive(&self.runtime, bounds, spec.total, work(&code, &mut store)).await;
        let traces = Traces::read(store.data_mut());
        drop(store);
        self.record().judge(end, traces, person)
    }
}

/// Tells the status how the lane stands once the call is over.
struct Shown<'a>(&'a PluginCalls);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.0.record().show(false);
    }
}
