//! The import `torrents` of API 0.1, over [`crate::imports::torrents`].

use qm_ports::action::ActionError;
use wasmtime::Result;

use super::hands;
use crate::core::state::State;
use crate::imports::torrents::{Errand, read, run};
use crate::imports::wit::common::PluginError;

/// What the host answers, in the words of the API: a plugin that hands it on changes nothing in it.
fn told(error: ActionError) -> PluginError {
    use ActionError as E;
    match error {
        E::Unreachable(why) => PluginError::Unreachable(why),
        E::Timeout(why) => PluginError::Timeout(why),
        E::Auth(why) => PluginError::Auth(why),
        E::InvalidParams(why) => PluginError::InvalidConfig(why),
        E::NotFound(what) => PluginError::NotFound(what),
        E::Unsupported(why) => PluginError::Unsupported(why),
        E::Rejected(why) => PluginError::Rejected(why),
        E::Protocol(why) => PluginError::Protocol(why),
        E::Throttled(seconds) => PluginError::Throttled(seconds),
        E::Denied(why) => PluginError::Denied(why),
        E::Unknown(_) | E::Busy | E::Plugin(_) => PluginError::Unreachable(error.to_string()),
    }
}

async fn errand(state: &mut State, errand: Errand) -> Result<Result<(), PluginError>> {
    Ok(run(state, errand).await?.map_err(told))
}

impl hands::Host for State {
    async fn read(&mut self) -> Result<Result<Option<String>, PluginError>> {
        Ok(read(self).await?.map_err(told))
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
