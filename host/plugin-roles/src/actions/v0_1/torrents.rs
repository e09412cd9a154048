//! The import `torrents` of API 0.1, over [`qm_plugin_host::imports::torrents`].

use qm_plugin_host::imports::torrents::{Errand, read, run};
use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::State;
use wasmtime::Result;

use super::{answered, hands};

async fn errand(state: &mut State, errand: Errand) -> Result<Result<(), PluginError>> {
    Ok(run(state, errand).await?.map_err(answered))
}

impl hands::Host for State {
    async fn read(&mut self) -> Result<Result<Option<String>, PluginError>> {
        Ok(read(self).await?.map_err(answered))
    }

    async fn pause(&mut self) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Pause).await
    }

    async fn stop(&mut self) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Stop).await
    }

    async fn start(&mut self) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Start).await
    }

    async fn relocate(&mut self, destination: String) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Relocate(destination)).await
    }

    async fn remove(&mut self, with_data: bool) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Remove { with_data }).await
    }

    async fn label(&mut self, label: String) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Label(label)).await
    }

    async fn tags(&mut self, add: Vec<String>, remove: Vec<String>) -> Result<Result<(), PluginError>> {
        errand(self, Errand::Tags { add, remove }).await
    }
}
