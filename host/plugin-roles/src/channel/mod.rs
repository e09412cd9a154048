//! The role `channel`: a plugin carries notifications to people. It may dial what the person's configuration names and the hosts
//! an administrator granted the plugin: both lead outside only, for neither comes from the operator.

mod contract;
mod port;
mod v0_1;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Code, Fault, State, Version, capability};
use qm_ports::channel::{ChannelError, Destination, Message, Receipt};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::stateless::{Bench, Prepare, Stateless};

pub(crate) use port::ChannelPort;

/// The role.
pub(crate) struct Channel;

impl Stateless for Channel {
    const NAME: &'static str = "channel";
    const INTERFACE: &'static str = "channel/channel";
    const PACKAGE: &'static str = "channel";
    const OFFERS: &'static [&'static str] = &["quartermaster:channel/messages@0.1"];
    const LANE: &'static str = "send";
    const HAS_OWN_HOSTS: bool = true;
    const GRANTABLE: &'static [&'static str] = &[capability::MAIL];
    const ADAPTERS: &'static [(Version, Prepare<Self>)] = &[(Version { major: 0, minor: 1 }, |pre| {
        Ok(Box::new(v0_1::Adapter::new(pre)?))
    })];

    type Adapter = dyn ChannelCode;
    type Error = ChannelError;

    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(bench))
    }

    fn failed(fault: Fault) -> ChannelError {
        match fault {
            Fault::Busy => ChannelError::Busy,
            Fault::Closed => ChannelError::Unreachable("the channel was closed".to_owned()),
            Fault::Missing(why) => ChannelError::Missing(why),
            Fault::InvalidConfig(why) => ChannelError::InvalidConfig(why),
            Fault::TimedOut(why) => ChannelError::Timeout(why),
            Fault::Failed(why) => ChannelError::Plugin(why),
        }
    }
}

type Answer<T> = qm_plugin_host::role::Answer<T, ChannelError>;

/// Calls that the adapter of each version implements. Each makes its own instance in `store`.
#[async_trait]
pub(crate) trait ChannelCode: Code {
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<Destination>;
    async fn link(&self, store: &mut Store<State>, config: &str, code: &str) -> Answer<Option<Destination>>;
    async fn send(
        &self,
        store: &mut Store<State>,
        config: &str,
        state: &str,
        message: Message,
    ) -> Answer<Receipt>;
}
