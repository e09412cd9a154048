//! The role `media-server`: a plugin speaks to one product that plays media.
//!
//! Nothing stays between calls: every call runs in an instance of its own
//! ([`Counter`](crate::core::fresh::Counter)), which may dial the origin of the server's base URL and nothing else. A new version
//! of `wit/media-server` gets a module beside `v0_1`; nothing else learns of it.

mod contract;
mod desk;
mod told;
mod v0_1;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::media_server::{Extent, MediaServerError, PlaySession, ServerAbout};
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
pub(crate) const NAME: &str = "media-server";

/// The role.
pub(crate) struct MediaServerRole;

impl Role for MediaServerRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "media-server/server"
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
        &["quartermaster:media-server/playing@0.1"]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn ServerCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            other => {
                return Err(wasmtime::Error::msg(format!(
                    "media server API {other} has no adapter"
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
struct Component(Box<dyn ServerCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

type Answer<T> = lane::Answer<T, MediaServerError>;

/// What each version's adapter does. Each call makes its own instance in `store`.
#[async_trait]
trait ServerCode: Send + Sync {
    /// Its traits hold what it offers, as [`told`] reads it.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
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

impl From<Fault> for MediaServerError {
    fn from(fault: Fault) -> Self {
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
