//! The role `indexer-protocol`: a plugin speaks protocols of indexers.
//!
//! Nothing stays between calls: every call runs in an instance of its own
//! ([`Counter`](crate::core::fresh::Counter)), which may dial the origin of the indexer's base URL and nothing else. One
//! plugin speaks several protocols, each with a schema of its own. A new version of `wit/indexer` gets a module beside
//! `v0_1`; nothing else learns of it.

mod contract;
mod desk;
mod told;
mod v0_1;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::indexer::{Caps, Found, IndexerError, Payload, Query};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

use crate::core::check::Check;
use crate::core::fault::Fault;
use crate::core::lane;
use crate::core::load::Loaded;
use crate::core::role::{Code, Descriptor, Role, Version};
use crate::core::runtime::Runtime;
use crate::core::state::State;

pub(crate) use desk::Desk;

/// The name of the role in the API.
pub(crate) const NAME: &str = "indexer-protocol";

/// The role.
pub(crate) struct IndexerRole;

impl Role for IndexerRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "indexer/indexer"
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 })
    }

    fn has_own_hosts(&self) -> bool {
        false
    }

    fn vet(&self, said: &Descriptor) -> Result<(), String> {
        told::vet(&said.traits)
    }

    fn offers(&self) -> &'static [&'static str] {
        &["quartermaster:indexer/releases@0.1"]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn IndexerCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            other => {
                return Err(wasmtime::Error::msg(format!(
                    "indexer API {other} has no adapter"
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
struct Component(Box<dyn IndexerCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

type Answer<T> = lane::Answer<T, IndexerError>;

/// What each version's adapter does. Each call makes its own instance in `store`.
#[async_trait]
trait IndexerCode: Send + Sync {
    /// Its traits hold what it speaks, as [`told`] reads it.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
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

impl From<Fault> for IndexerError {
    fn from(fault: Fault) -> Self {
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
