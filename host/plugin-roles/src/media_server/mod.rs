//! The role `media-server`: a plugin speaks to one product that plays media, and may dial the origin of a server's base URL and
//! nothing else.

mod contract;
mod description;
mod port;
mod v0_1;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Code, Descriptor, Fault, State, Version};
use qm_ports::media_server::{Extent, MediaServerError, PlaySession, ServerAbout};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::stateless::{Bench, Prepare, Stateless};

/// The role.
pub(crate) struct MediaServer;

impl Stateless for MediaServer {
    const NAME: &'static str = "media-server";
    const INTERFACE: &'static str = "media-server/server";
    const PACKAGE: &'static str = "media server";
    const OFFERS: &'static [&'static str] = &["quartermaster:media-server/playing@0.1"];
    // A server that hangs must not hold up the others of its kind.
    const AT_ONCE: Option<usize> = Some(8);
    const ADAPTERS: &'static [(Version, Prepare<Self>)] = &[(Version { major: 0, minor: 1 }, |pre| {
        Ok(Box::new(v0_1::Adapter::new(pre)?))
    })];

    type Adapter = dyn ServerCode;
    type Error = MediaServerError;

    fn vet(said: &Descriptor) -> Result<(), String> {
        description::vet(&said.traits)
    }

    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(bench))
    }

    fn failed(fault: Fault) -> MediaServerError {
        match fault {
            Fault::Busy => MediaServerError::Busy,
            Fault::Closed => MediaServerError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) => MediaServerError::Missing(why),
            Fault::InvalidConfig(why) => MediaServerError::InvalidConfig(why),
            Fault::TimedOut(why) => MediaServerError::Timeout(why),
            Fault::Failed(why) => MediaServerError::Plugin(why),
        }
    }
}

type Answer<T> = qm_plugin_host::role::Answer<T, MediaServerError>;

/// Calls that the adapter of each version implements. Each makes its own instance in `store`.
/// The traits of its description hold the product, as [`description`] reads it.
#[async_trait]
pub(crate) trait ServerCode: Code {
    async fn test(&self, store: &mut Store<State>, config: &str) -> Answer<ServerAbout>;
    async fn refresh(&self, store: &mut Store<State>, config: &str, extent: Extent) -> Answer<()>;
    async fn sessions(&self, store: &mut Store<State>, config: &str) -> Answer<Vec<PlaySession>>;
    async fn terminate(
        &self,
        store: &mut Store<State>,
        config: &str,
        session: &str,
        message: Option<String>,
    ) -> Answer<()>;
}
