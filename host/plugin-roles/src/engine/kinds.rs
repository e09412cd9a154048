//! The kinds of torrent clients that the plugins drive, as the rest of the server knows them.

use std::sync::Arc;

use async_trait::async_trait;
use qm_net::Grants;
use qm_plugin_host::Installed;
use qm_ports::Settling;
use qm_ports::engine::{EngineConfig, EngineDriver, EngineError, EngineKind, EngineKinds, changes};
use tokio::sync::watch;

use super::driver::PluginEngine;
use super::{NAME, kind_of};

/// The kinds of all loaded plugins.
pub(crate) struct Engines(pub(crate) Installed);

#[async_trait]
impl EngineKinds for Engines {
    fn kinds(&self) -> Vec<EngineKind> {
        self.0.of_role(NAME).into_iter().map(kind_of).collect()
    }

    fn settling(&self, kind: &str) -> Option<Settling> {
        self.0.settling(NAME, "the engine kind", kind)
    }

    async fn open(
        &self,
        id: &str,
        kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let unknown =
            || EngineError::Unsupported(format!("No installed plugin provides the engine kind {kind}"));
        let about = self.0.of_role(NAME).into_iter().find(|about| about.id == kind);
        let schema = about.ok_or_else(unknown)?.config_schema;
        Grants::from_config(&schema, &config.fields).map_err(EngineError::InvalidConfig)?;
        let owner = self.0.owner((NAME, kind), id, config.fields, config.secrets);
        let owner = owner.ok_or_else(unknown)?;
        Ok(Arc::new(PluginEngine::open(owner)))
    }

    fn generation(&self) -> changes::Receiver {
        Arc::new(Generation(self.0.generation().clone()))
    }
}

/// Counts the changes of the set of kinds.
struct Generation(watch::Sender<u64>);

#[async_trait]
impl changes::Changes for Generation {
    fn current(&self) -> u64 {
        *self.0.borrow()
    }

    async fn changed(&self, seen: u64) -> u64 {
        // The sender lives in `self`, so waiting cannot fail.
        self.0
            .subscribe()
            .wait_for(|count| *count != seen)
            .await
            .map_or(seen, |count| *count)
    }
}
