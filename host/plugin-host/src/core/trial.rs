//! Contract tests of a loaded file: calls in instances of their own, or in one that stays, and the reason when one brings no word.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_net::Grants;
use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::services::Rights;
use qm_plugin_guest::state::State;
use qm_plugin_guest::voice::Secrets;
use serde_json::{Map, Value};
use wasmtime::Store;

use crate::core::call::{LaneRecord, Traces, Witness, drive};
use crate::core::certificate::text_for_plugin;
use crate::core::lane::{Answer, Open, Resident};
use crate::core::load::Loaded;
use crate::core::pins::Granted;
use crate::core::role::About;
use crate::core::role_calls::CallSpec;
use crate::core::runtime::{Runtime, Tenant};
use crate::core::slot::Slot;

/// Time limit on one call in an instance that stays.
const DEADLINE: Duration = Duration::from_secs(30);

/// The plugin's word, or the reason why there was none.
pub type Heard<T, E> = Result<Result<T, E>, String>;

/// A plugin under test, with the configuration of a target.
pub struct Trial {
    runtime: Arc<Runtime>,
    loaded: Arc<Loaded>,
    target: Map<String, Value>,
    with_hosts: bool,
}

impl Trial {
    pub(crate) fn new(runtime: Arc<Runtime>, loaded: Arc<Loaded>, target: Map<String, Value>) -> Self {
        Self {
            runtime,
            loaded,
            target,
            with_hosts: false,
        }
    }

    /// The same, where the plugin may reach the hosts it asks for.
    pub fn with_hosts(self) -> Self {
        Self {
            with_hosts: true,
            ..self
        }
    }

    /// Description of the plugin.
    pub fn about(&self) -> &About {
        &self.loaded.about
    }

    /// The configuration of the target.
    pub fn target(&self) -> &Map<String, Value> {
        &self.target
    }

    /// The configuration as the text that plugins take.
    pub fn config(&self) -> String {
        text_for_plugin(&self.loaded.about.config_schema, &self.target)
    }

    /// Limits on calls.
    pub fn limits(&self) -> &Limits {
        &self.runtime.limits
    }

    /// Makes one call in an instance of its own.
    pub async fn call<W>(
        &self,
        spec: CallSpec<'_>,
        work: impl for<'a> FnOnce(&'a Loaded, &'a mut Store<State>) -> BoxFuture<'a, wasmtime::Result<W>>,
    ) -> Result<W, String> {
        let slot = Slot::new(&self.loaded.about.id);
        if self.with_hosts {
            slot.grant(Granted {
                hosts: self.loaded.about.hosts.clone(),
                ..Granted::default()
            });
        }
        let mut record = LaneRecord::new(self.runtime.clone(), slot, "", "check");
        let mut store = record
            .store(&self.loaded, spec.config, spec.context)
            .map_err(|fault| fault.to_string())?;
        let bounds = store.data().bounds();
        let work = work(&self.loaded, &mut store);
        let end = drive(&self.runtime, bounds, spec.total, work).await;
        let traces = Traces::read(store.data_mut());
        record.judge(end, traces, None).map_err(|fault| fault.to_string())
    }
}

/// A plugin under test in an instance that stays, until a call traps or takes too long.
pub struct SessionTrial<S: Resident + ?Sized> {
    trial: Trial,
    open: Open<S>,
    session: Option<Box<S>>,
}

impl<S: Resident + ?Sized> SessionTrial<S>
where
    S::Error: std::fmt::Display,
{
    /// With no instance so far.
    pub fn new(trial: Trial, open: Open<S>) -> Self {
        Self {
            trial,
            open,
            session: None,
        }
    }

    /// Description of the plugin.
    pub fn about(&self) -> &About {
        self.trial.about()
    }

    /// Opens a session in a new instance.
    pub async fn open(&mut self) -> Result<(), String> {
        let Trial {
            runtime,
            loaded,
            target,
            ..
        } = &self.trial;
        let schema = &loaded.about.config_schema;
        let store = runtime.store(Tenant {
            plugin: &loaded.about.id,
            owner: "check",
            lane: "check",
            first_party: loaded.first_party,
            grants: Grants::from_config(schema, target)?,
            rights: Rights::default(),
            secrets: Secrets::gather(schema, target, &[]),
            log_dropped: Arc::default(),
            refusals: Arc::default(),
            memory: Arc::default(),
        });
        let witness = Witness::new(store.data());
        let _ticking = runtime.ticking();
        let opening = (self.open)(loaded.clone(), store, Arc::new(target.clone()));
        match tokio::time::timeout(DEADLINE, opening).await {
            Ok(Ok(Ok(session))) => {
                self.session = Some(session);
                Ok(())
            }
            Ok(Ok(Err(word))) => Err(word.to_string()),
            Ok(Err(trap)) => Err(witness.traces().cause(&trap, &runtime.limits)),
            Err(_) => Err(late()),
        }
    }

    /// Makes one call. After a trap or a timeout the next one gets a new session.
    pub async fn call<T>(
        &mut self,
        work: impl for<'s> FnOnce(&'s mut S) -> BoxFuture<'s, Answer<T, S::Error>>,
    ) -> Heard<T, S::Error> {
        if self.session.is_none() {
            self.open().await?;
        }
        let mut session = self.session.take().ok_or_else(late)?;
        session.state().begin_call();
        let _ticking = self.trial.runtime.ticking();
        let heard = match tokio::time::timeout(DEADLINE, work(&mut *session)).await {
            Ok(Ok(word)) => Ok(word),
            Ok(Err(trap)) => {
                let why = Traces::read(session.state()).cause(&trap, &self.trial.runtime.limits);
                Err(format!("it trapped: {why}"))
            }
            Err(_) => Err(late()),
        };
        session.state().voice.settle();
        if heard.is_ok() {
            self.session = Some(session);
        }
        heard
    }

    /// Closes the session; none when there is none.
    pub async fn close(&mut self) -> Option<Result<(), String>> {
        let mut session = self.session.take()?;
        let witness = Witness::new(session.state());
        Some(match tokio::time::timeout(DEADLINE, session.close()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(trap)) => Err(witness.traces().cause(&trap, &self.trial.runtime.limits)),
            Err(_) => Err(late()),
        })
    }
}

fn late() -> String {
    format!("it took longer than {} s", DEADLINE.as_secs())
}
