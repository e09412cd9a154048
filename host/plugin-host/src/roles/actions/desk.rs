//! The actions of all loaded plugins, as the rest of the server knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use qm_ports::Settling;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, Occasion};
use serde_json::{Map, Value};

use super::{ActionsCode, Component, NAME, told};
use crate::core::catalog::{Catalog, SHOWN};
use crate::core::certificate::text_for_plugin;
use crate::core::fresh::{Counter, Visit};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::status::PluginStatus;
use crate::core::values::ValueError;
use crate::core::voice::one_line;
use crate::roles::claims;

/// The most of an unknown action's id that is repeated.
const ID: usize = 64;

/// The actions of all loaded plugins.
pub(crate) struct Desk {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    calls: Counter,
}

impl Desk {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self {
            calls: Counter::new(runtime.clone(), catalog.clone(), NAME, "run"),
            runtime,
            catalog,
        }
    }

    /// The plugins that provide actions, whoever has a claim before another one first.
    fn providers(&self) -> Vec<Arc<Loaded>> {
        claims::providers(&self.catalog, NAME)
    }

    /// The action of this id, with the plugin that has the first claim to it.
    fn find(&self, action: &str) -> Option<(ActionKind, Arc<Loaded>)> {
        self.providers().into_iter().find_map(|code| {
            let kind = told::kind(&code.about, action)?;
            Some((kind, code))
        })
    }

    /// What an administrator entered for the plugin, as far as its schema knows it: a newer file may want less.
    async fn configuration(&self, code: &Loaded) -> Result<Map<String, Value>, ActionError> {
        let (services, plugin) = (&self.runtime.services, &code.about.id);
        let entered = services.values.configuration(plugin).await;
        let mut entered = entered.map_err(unreadable)?.unwrap_or_default();
        let schema = &code.about.config_schema;
        if schema.get("additionalProperties").is_none() {
            let known = schema.get("properties").and_then(Value::as_object);
            entered.retain(|name, _| known.is_some_and(|known| known.contains_key(name)));
        }
        (services.judge)(schema, &entered).map_err(|reason| {
            ActionError::Rejected(format!(
                "its plugin `{plugin}` is not configured: {reason}; see PUT /api/plugins/{plugin}/config"
            ))
        })?;
        Ok(entered)
    }

    /// Adds to a list of plugins which of their actions others provide.
    pub(crate) fn tell_of_claims(&self, plugins: &mut [PluginStatus]) {
        let ids = |code: &Loaded| told::ids(&code.about.traits).map(str::to_owned).collect();
        claims::tell(&self.providers(), (NAME, "action"), ids, plugins);
    }
}

fn unreadable(error: ValueError) -> ActionError {
    ActionError::Plugin(format!("its configuration cannot be read: {error}"))
}

/// The action may not follow such a trigger.
fn misplaced(kind: &ActionKind, occasion: Occasion) -> Option<ActionError> {
    if kind.occasions.contains(&occasion) {
        return None;
    }
    let id = &kind.id;
    Some(ActionError::Unsupported(match occasion {
        Occasion::Event => format!("Action \"{id}\" is not valid for an event trigger"),
        Occasion::Media if kind.occasions.contains(&Occasion::Torrent) => {
            format!("Action \"{id}\" is only valid for a torrent trigger")
        }
        Occasion::Media => format!("Action \"{id}\" is not valid for a media trigger"),
        Occasion::Torrent => format!("Action \"{id}\" is not valid for a torrent trigger"),
    }))
}

#[async_trait]
impl Actions for Desk {
    fn actions(&self) -> Vec<ActionKind> {
        let mut all: BTreeMap<String, ActionKind> = BTreeMap::new();
        for code in self.providers() {
            let about = &code.about;
            for kind in told::ids(&about.traits).filter_map(|id| told::kind(about, id)) {
                all.entry(kind.id.clone()).or_insert(kind);
            }
        }
        all.into_values().collect()
    }

    fn settling(&self, action: &str) -> Option<Settling> {
        let wanted = format!("the action {}", one_line(action, SHOWN));
        self.catalog.settling(Some(NAME), wanted)
    }

    async fn settled(&self) {
        self.catalog.intake().idle().await;
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let unknown = || ActionError::Unknown(one_line(action, ID));
        let (kind, code) = self.find(action).ok_or_else(unknown)?;
        if let Some(refusal) = misplaced(&kind, call.occasion) {
            return Err(refusal);
        }
        let calls = self.calls.of(&kind.plugin).ok_or_else(unknown)?;
        (self.runtime.services.judge)(&kind.params_schema, &call.params)
            .map_err(ActionError::InvalidParams)?;
        let config = self.configuration(&code).await?;
        let told = text_for_plugin(&code.about.config_schema, &config);
        let mut secrets = told::secrets(&kind.params_schema, &call.params);
        secrets.extend(told::secrets(&code.about.config_schema, &config));
        let visit = Visit {
            config: &config,
            concern: Concern {
                secrets,
                torrent: call.torrent.clone(),
                powers: call.powers,
                keep_shared: call.params.get("keepShared") == Some(&Value::Bool(true)),
                ..Concern::default()
            },
            total: self.runtime.limits.run_total,
        };
        let action = kind.id.clone();
        calls
            .call(visit, move |code, store| match component(code) {
                Some(component) => Box::pin(async move { component.run(store, &action, &told, &call).await }),
                None => Box::pin(async move { Ok(Err(ActionError::Unknown(action))) }),
            })
            .await
    }
}

pub(super) fn component(code: &Loaded) -> Option<&dyn ActionsCode> {
    let Component(code) = code.code_as::<Component>()?;
    Some(&**code)
}
