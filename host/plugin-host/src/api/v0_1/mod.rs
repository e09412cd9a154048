//! Plugin API 0.1: bindings of `wit/since-0.1.0` and the way from them to the kernel's words.

mod convert;
mod imports;
mod session;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Linker};

use super::{Answer, Descriptor, EngineCode, Session};
use crate::state::State;

pub(crate) mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/since-0.1.0",
        world: "engine-provider",
        imports: {
            // Never wait: a plain call is cheaper than a future.
            "quartermaster:plugin/log": trappable,
            "quartermaster:plugin/clock.now-ms": trappable,
            "quartermaster:plugin/clock.monotonic-ms": trappable,
            default: async | trappable,
        },
        exports: { default: async },
        with: {
            "quartermaster:plugin/transport.connection": crate::api::v0_1::imports::Connection,
            "quartermaster:plugin/http.response": crate::api::v0_1::imports::Response,
        },
    });
}

use bindings::quartermaster::plugin as wit;
use bindings::{EngineProvider, EngineProviderPre};

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    EngineProvider::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

/// A component of the world `engine-provider`.
pub(crate) struct Code(EngineProviderPre<State>);

impl Code {
    /// Fails when an export is missing; a wrong type of one shows only in an instance.
    pub(crate) fn new(pre: InstancePre<State>) -> wasmtime::Result<Self> {
        Ok(Self(EngineProviderPre::new(pre)?))
    }
}

#[async_trait]
impl EngineCode for Code {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.0.instantiate_async(&mut store).await?;
        let said = world
            .quartermaster_plugin_engine()
            .call_describe(&mut store)
            .await?;
        Ok(Descriptor {
            id: said.id,
            label: said.label,
            version: said.version,
            config_schema: said.config_schema,
            capabilities: said.capabilities,
        })
    }

    async fn open(&self, mut store: Store<State>, config: &str) -> Answer<Box<dyn Session>> {
        let world = self.0.instantiate_async(&mut store).await?;
        let opened = world
            .quartermaster_plugin_engine()
            .session()
            .call_open(&mut store, config)
            .await?;
        Ok(match opened {
            Ok(handle) => Ok(Box::new(session::Live::new(store, world, handle))),
            Err(error) => Err(convert::error(error, &store.data().voice)),
        })
    }
}
