//! The role `action-set`: a plugin provides actions that rules run. A run may touch the torrent it is about, if that was granted,
//! and no other, and have media looked at, if that was.

mod contract;
mod description;
mod port;
mod v0_1;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Claims, Code, Descriptor, Fault, State, Version, capability};
use qm_ports::action::{ActionCall, ActionError};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::stateless::{Bench, Prepare, Stateless};

/// The role.
pub(crate) struct ActionSet;

impl Stateless for ActionSet {
    const NAME: &'static str = "action-set";
    const INTERFACE: &'static str = "actions/actions";
    const PACKAGE: &'static str = "actions";
    const OFFERS: &'static [&'static str] = &[
        "quartermaster:actions/runs@0.1",
        "quartermaster:actions/torrents@0.1",
        "quartermaster:actions/media@0.1",
    ];
    const LANE: &'static str = "run";
    const HAS_OWN_HOSTS: bool = true;
    const GRANTABLE: &'static [&'static str] =
        &[capability::TORRENTS, capability::MEDIA, capability::HTTP_GUARDED];
    const KEEPS_VALUES: bool = true;
    const IS_CONFIGURED_ONCE: bool = true;
    const CLAIMS: Option<Claims> = Some(Claims {
        noun: "action",
        ids: |about| description::ids(&about.traits).map(str::to_owned).collect(),
    });
    const ADAPTERS: &'static [(Version, Prepare<Self>)] = &[(Version { major: 0, minor: 1 }, |pre| {
        Ok(Box::new(v0_1::Adapter::new(pre)?))
    })];

    type Adapter = dyn ActionsCode;
    type Error = ActionError;

    fn vet(said: &Descriptor) -> Result<(), String> {
        description::vet(&said.traits)
    }

    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(bench))
    }

    fn failed(fault: Fault) -> ActionError {
        match fault {
            Fault::Busy => ActionError::Busy,
            Fault::Closed => ActionError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) | Fault::Failed(why) => ActionError::Plugin(why),
            Fault::InvalidConfig(why) => ActionError::InvalidParams(why),
            Fault::TimedOut(why) => ActionError::Timeout(why),
        }
    }
}

type Answer<T> = qm_plugin_host::role::Answer<T, ActionError>;

/// Calls that the adapter of each version implements. Each makes its own instance in `store`.
/// The traits of its description hold the actions, as [`description`] reads them.
#[async_trait]
pub(crate) trait ActionsCode: Code {
    async fn run(
        &self,
        store: &mut Store<State>,
        action: &str,
        config: &str,
        call: &ActionCall,
    ) -> Answer<()>;
}
