//! The role `metadata-provider`: a plugin asks a provider of metadata about films and shows.
//!
//! Nothing but `kv` stays between calls: every call runs in an instance of its own
//! ([`Counter`](crate::core::fresh::Counter)), which may dial the hosts that an administrator granted the plugin, outside only, and
//! what the operator's configuration marks, a base URL say. A new version of `wit/metadata` gets a module beside `v0_1`; nothing
//! else learns of it.

mod contract;
mod desk;
mod told;
mod v0_1;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::metadata::{
    EpisodeDetails, ExternalId, ImageDetails, ProviderError, TitleDetails, TitleHit, TitleQuery,
    TitleSubject, TitlesFound,
};
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
pub(crate) const NAME: &str = "metadata-provider";

/// The role.
pub(crate) struct MetadataRole;

impl Role for MetadataRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "metadata/provider"
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 })
    }

    fn has_own_hosts(&self) -> bool {
        true
    }

    fn is_configured_once(&self) -> bool {
        true
    }

    fn keeps_values(&self) -> bool {
        true
    }

    fn vet(&self, said: &Descriptor) -> Result<(), String> {
        told::vet(&said.traits)
    }

    fn offers(&self) -> &'static [&'static str] {
        &["quartermaster:metadata/titles@0.1"]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn ProviderCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            other => {
                return Err(wasmtime::Error::msg(format!(
                    "metadata API {other} has no adapter"
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
struct Component(Box<dyn ProviderCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

type Answer<T> = lane::Answer<T, ProviderError>;

/// What each version's adapter does. Each call makes its own instance in `store`.
#[async_trait]
trait ProviderCode: Send + Sync {
    /// Its traits hold what it answers, as [`told`] reads it.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<()>;
    async fn search(&self, store: &mut Store<State>, config: &str, query: TitleQuery) -> Answer<TitlesFound>;
    async fn details(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<TitleDetails>;
    async fn episodes(
        &self,
        store: &mut Store<State>,
        config: &str,
        season: (&str, u32),
        language: Option<String>,
    ) -> Answer<Vec<EpisodeDetails>>;
    async fn artwork(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<Vec<ImageDetails>>;
    async fn find(
        &self,
        store: &mut Store<State>,
        config: &str,
        id: ExternalId,
        language: Option<String>,
    ) -> Answer<Vec<TitleHit>>;
}

impl From<Fault> for ProviderError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Busy => ProviderError::Busy,
            Fault::Closed => ProviderError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) => ProviderError::Missing(why),
            Fault::InvalidConfig(why) => ProviderError::InvalidConfig(why),
            Fault::TimedOut(why) => ProviderError::Timeout(why),
            Fault::Failed(why) => ProviderError::Plugin(why),
        }
    }
}
