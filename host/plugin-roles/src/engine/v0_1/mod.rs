//! Engine API 0.1: bindings of `wit/engine@0.1.0` and the way from them to the words of `ports`.

mod convert;
mod session;

use async_trait::async_trait;
use qm_plugin_host::role::{Descriptor, State};
use qm_ports::engine::capability;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Linker};

use super::{Answer, EngineCode, Session, errors};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/engine@0.1.0",
        world: "engine-provider",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::EngineProviderPre;
use bindings::quartermaster::engine::records as wit;

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl wit::Host for State {}

/// Words that mean something in this version. A later one's, declared by a plugin of this one, would promise what it cannot keep.
const CAPABILITIES: [&str; 8] = [
    capability::MOVES_DATA,
    capability::FOLLOWS_DATA,
    capability::RENAME,
    capability::RENAME_FILE,
    capability::TAGS,
    capability::ALL_TIME,
    capability::GLOBAL_LIMITS,
    capability::V2,
];

/// A component of the world `engine-provider`.
pub(super) struct Code(EngineProviderPre<State>);

impl Code {
    /// Fails when an export is missing; a wrong type of one shows only in an instance.
    pub(super) fn new(pre: InstancePre<State>) -> wasmtime::Result<Self> {
        Ok(Self(EngineProviderPre::new(pre)?))
    }
}

#[async_trait]
impl EngineCode for Code {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.0.instantiate_async(&mut store).await?;
        let mut said = world
            .quartermaster_engine_engine()
            .call_describe(&mut store)
            .await?;
        said.capabilities
            .retain(|word| CAPABILITIES.contains(&word.as_str()));
        Ok(Descriptor::new(said, serde_json::Map::new()))
    }

    async fn open(&self, mut store: Store<State>, config: &str) -> Answer<Box<Session>> {
        let world = self.0.instantiate_async(&mut store).await?;
        let opened = world
            .quartermaster_engine_engine()
            .session()
            .call_open(&mut store, config)
            .await?;
        Ok(match opened {
            Ok(handle) => Ok(Box::new(session::Live::new(store, world, handle))),
            Err(error) => Err(errors::read(error, store.data().voice())),
        })
    }
}
