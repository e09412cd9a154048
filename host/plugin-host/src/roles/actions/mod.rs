//! The role `action-set`: a plugin provides actions that rules run.
//!
//! Nothing stays between calls: every run has an instance of its own ([`Counter`](crate::core::fresh::Counter)), which may
//! touch the torrent the run is about, if that was granted, and no other, and have media looked at, if that was. A new version of `wit/actions` gets a module
//! beside `v0_1`; nothing else learns of it.

mod contract;
mod desk;
mod told;
mod v0_1;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::action::{ActionCall, ActionError};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

use crate::core::check::Check;
use crate::core::fault::Fault;
use crate::core::lane;
use crate::core::load::Loaded;
use crate::core::role::{Code, Descriptor, Role, Version};
use crate::core::runtime::Runtime;
use crate::core::services::capability;
use crate::core::state::State;

pub(crate) use desk::Desk;

/// The name of the role in the API.
pub(crate) const NAME: &str = "action-set";

/// The role.
pub(crate) struct ActionsRole;

impl Role for ActionsRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "actions/actions"
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 })
    }

    fn has_own_hosts(&self) -> bool {
        true
    }

    fn grantable(&self) -> &'static [&'static str] {
        &[capability::TORRENTS, capability::MEDIA, capability::HTTP_GUARDED]
    }

    fn keeps_values(&self) -> bool {
        true
    }

    fn is_configured_once(&self) -> bool {
        true
    }

    fn vet(&self, said: &Descriptor) -> Result<(), String> {
        told::vet(&said.traits)
    }

    fn offers(&self) -> &'static [&'static str] {
        &[
            "quartermaster:actions/runs@0.1",
            "quartermaster:actions/torrents@0.1",
            "quartermaster:actions/media@0.1",
        ]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn ActionsCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            other => {
                return Err(wasmtime::Error::msg(format!(
                    "actions API {other} has no adapter"
                )));
            }
        };
        Ok(Arc::new(Component(code)))
    }

    fn contract(
        &self,
        runtime: Arc<Runtime>,
        code: Arc<Loaded>,
        target: Map<String, Value>,
    ) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(runtime, code, target))
    }
}

/// A compiled component of this role, whatever its version.
struct Component(Box<dyn ActionsCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

type Answer<T> = lane::Answer<T, ActionError>;

/// What each version's adapter does. Each call makes its own instance in `store`.
#[async_trait]
trait ActionsCode: Send + Sync {
    /// Its traits hold what it provides, as [`told`] reads it.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
    async fn run(
        &self,
        store: &mut Store<State>,
        action: &str,
        config: &str,
        call: &ActionCall,
    ) -> Answer<()>;
}

impl From<Fault> for ActionError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Busy => ActionError::Busy,
            Fault::Closed => ActionError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) | Fault::Failed(why) => ActionError::Plugin(why),
            Fault::InvalidConfig(why) => ActionError::InvalidParams(why),
            Fault::TimedOut(why) => ActionError::Timeout(why),
        }
    }
}
