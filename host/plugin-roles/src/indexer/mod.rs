//! The role `indexer-protocol`: a plugin speaks protocols of indexers, and may dial the origin of an indexer's base URL and
//! nothing else. One plugin speaks several protocols, each with a schema of its own.

mod contract;
mod description;
mod port;
mod v0_1;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Claims, Code, Descriptor, Fault, State, Version};
use qm_ports::indexer::{Caps, Found, IndexerError, Payload, Query};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::stateless::{Bench, Prepare, Stateless};

/// The role.
pub(crate) struct Indexer;

impl Stateless for Indexer {
    const NAME: &'static str = "indexer-protocol";
    const INTERFACE: &'static str = "indexer/indexer";
    const PACKAGE: &'static str = "indexer";
    const OFFERS: &'static [&'static str] = &["quartermaster:indexer/releases@0.1"];
    // Most indexers are spoken to by the same plugin, and a slow one must not hold up the others.
    const AT_ONCE: Option<usize> = Some(16);
    const CLAIMS: Option<Claims> = Some(Claims {
        noun: "protocol",
        ids: |about| description::ids(&about.traits),
    });
    const ADAPTERS: &'static [(Version, Prepare<Self>)] = &[(Version { major: 0, minor: 1 }, |pre| {
        Ok(Box::new(v0_1::Adapter::new(pre)?))
    })];

    type Adapter = dyn IndexerCode;
    type Error = IndexerError;

    fn vet(said: &Descriptor) -> Result<(), String> {
        description::vet(&said.traits)
    }

    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(bench))
    }

    fn failed(fault: Fault) -> IndexerError {
        match fault {
            Fault::Busy => IndexerError::Busy,
            Fault::Closed => IndexerError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) => IndexerError::Missing(why),
            Fault::InvalidConfig(why) => IndexerError::InvalidConfig(why),
            Fault::TimedOut(why) => IndexerError::Timeout(why),
            Fault::Failed(why) => IndexerError::Plugin(why),
        }
    }
}

type Answer<T> = qm_plugin_host::role::Answer<T, IndexerError>;

/// Calls that the adapter of each version implements. Each makes its own instance in `store`. The traits of its description hold
/// the protocols, as [`description`] reads them.
#[async_trait]
pub(crate) trait IndexerCode: Code {
    async fn caps(&self, store: &mut Store<State>, protocol: &str, config: &str) -> Answer<Caps>;
    async fn search(
        &self,
        store: &mut Store<State>,
        protocol: &str,
        config: &str,
        query: Query,
    ) -> Answer<Found>;
    async fn download(
        &self,
        store: &mut Store<State>,
        protocol: &str,
        config: &str,
        link: &str,
    ) -> Answer<Payload>;
}
