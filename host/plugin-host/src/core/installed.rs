//! Installed plugins as their roles see them: which there are, what configures them, and ways to call them.

use std::sync::Arc;

use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::values::ValueError;
use qm_plugin_guest::voice::one_line;
use qm_ports::Settling;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::core::catalog::{Catalog, SHOWN};
use crate::core::claims;
use crate::core::lane::Owner;
use crate::core::load::Loaded;
use crate::core::role::About;
use crate::core::role_calls::RoleCalls;
use crate::core::runtime::Runtime;

/// The installed plugins; clones are the same ones.
#[derive(Clone)]
pub struct Installed {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
}

impl Installed {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self { runtime, catalog }
    }

    /// Descriptions of the plugins of one role that are in use, by id.
    pub fn of_role(&self, role: &str) -> Vec<About> {
        self.catalog.of_role(role)
    }

    /// Plugins of one role that are in use, whoever has a claim before another one first: of several that provide one thing the
    /// first one has it.
    pub fn by_claim(&self, role: &'static str) -> Vec<Arc<Loaded>> {
        claims::providers(&self.catalog, role)
    }

    /// Reason why a thing of this role may yet be provided, where a file is still to be loaded; `noun` names it, e.g. `the
    /// action`.
    pub fn settling(&self, role: &str, noun: &str, id: &str) -> Option<Settling> {
        let wanted = format!("{noun} {}", one_line(id, SHOWN));
        self.catalog.settling(Some(role), wanted)
    }

    /// Waits until every file found so far is in use or refused.
    pub async fn settled(&self) {
        self.catalog.intake().idle().await;
    }

    /// Counter of the changes of the set of plugins in use.
    pub fn generation(&self) -> &watch::Sender<u64> {
        self.catalog.generation()
    }

    /// Limits on all plugins.
    pub fn limits(&self) -> &Limits {
        &self.runtime.limits
    }

    /// The configuration that an administrator entered for the plugin of this id.
    pub async fn configuration(&self, plugin: &str) -> Result<Option<Map<String, Value>>, ValueError> {
        self.runtime.services.values.configuration(plugin).await
    }

    /// Judges values that a user entered by a schema of a plugin: an error says what is wrong, by name and never by value.
    pub fn judge(&self, schema: &Value, given: &Map<String, Value>) -> Result<(), String> {
        (self.runtime.services.judge)(schema, given)
    }

    /// Calls of plugins of a role, each in an instance of its own; `lane` names them in the status.
    pub fn calls(&self, role: &'static str, lane: &'static str) -> RoleCalls {
        RoleCalls::new(self.runtime.clone(), self.catalog.clone(), role, lane)
    }

    /// Owner of lanes for what is configured under `id`, for the plugin of this id and role; none when there is no such plugin.
    /// `secrets` are those of the configuration, in clear.
    pub fn owner(
        &self,
        (role, plugin): (&str, &str),
        id: &str,
        config: Map<String, Value>,
        secrets: Vec<String>,
    ) -> Option<Owner> {
        let slot = self.catalog.slot(plugin)?;
        let owner = Owner {
            runtime: self.runtime.clone(),
            slot,
            id: id.to_owned(),
            config: Arc::new(config),
            secrets: secrets.into(),
        };
        owner.code().is_some_and(|code| code.is_of(role)).then_some(owner)
    }
}
