//! The actions of all loaded plugins, as the rest of the server knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use qm_plugin_host::ValueError;
use qm_plugin_host::role::{CallContext, CallSpec, Loaded, one_line, text_for_plugin};
use qm_ports::Settling;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, Occasion};
use serde_json::{Map, Value};

use super::{ActionSet, description};
use crate::stateless::{RolePort, Stateless as _};

/// The most of an unknown action's id that is repeated.
const ID: usize = 64;

impl RolePort<ActionSet> {
    /// The plugins that provide actions, whoever has a claim before another one first.
    fn providers(&self) -> Vec<Arc<Loaded>> {
        self.installed.by_claim(ActionSet::NAME)
    }

    /// The action of this id, with the plugin that has the first claim to it.
    fn find(&self, action: &str) -> Option<(ActionKind, Arc<Loaded>)> {
        self.providers().into_iter().find_map(|code| {
            let kind = description::kind(&code.about, action)?;
            Some((kind, code))
        })
    }

    /// The configuration that an administrator entered for the plugin, as far as its schema knows it: a newer file may want less.
    async fn configuration(&self, code: &Loaded) -> Result<Map<String, Value>, ActionError> {
        let plugin = &code.about.id;
        let entered = self.installed.configuration(plugin).await;
        let mut entered = entered.map_err(unreadable)?.unwrap_or_default();
        let schema = &code.about.config_schema;
        if schema.get("additionalProperties").is_none() {
            let known = schema.get("properties").and_then(Value::as_object);
            entered.retain(|name, _| known.is_some_and(|known| known.contains_key(name)));
        }
        self.installed.judge(schema, &entered).map_err(|reason| {
            ActionError::Rejected(format!(
                "its plugin `{plugin}` is not configured: {reason}; see PUT /api/plugins/{plugin}/config"
            ))
        })?;
        Ok(entered)
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
impl Actions for RolePort<ActionSet> {
    fn actions(&self) -> Vec<ActionKind> {
        let mut all: BTreeMap<String, ActionKind> = BTreeMap::new();
        for code in self.providers() {
            let about = &code.about;
            for kind in description::ids(&about.traits).filter_map(|id| description::kind(about, id)) {
                all.entry(kind.id.clone()).or_insert(kind);
            }
        }
        all.into_values().collect()
    }

    fn settling(&self, action: &str) -> Option<Settling> {
        self.installed.settling(ActionSet::NAME, "the action", action)
    }

    async fn settled(&self) {
        self.installed.settled().await;
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let unknown = || ActionError::Unknown(one_line(action, ID));
        let (kind, code) = self.find(action).ok_or_else(unknown)?;
        if let Some(refusal) = misplaced(&kind, call.occasion) {
            return Err(refusal);
        }
        let calls = self.calls_of(&kind.plugin).ok_or_else(unknown)?;
        self.installed
            .judge(&kind.params_schema, &call.params)
            .map_err(ActionError::InvalidParams)?;
        let config = self.configuration(&code).await?;
        let told = text_for_plugin(&code.about.config_schema, &config);
        let mut secrets = description::secrets(&kind.params_schema, &call.params);
        secrets.extend(description::secrets(&code.about.config_schema, &config));
        let spec = CallSpec {
            config: &config,
            context: CallContext {
                secrets,
                torrent: call.torrent.clone(),
                powers: call.powers,
                keep_shared: call.params.get("keepShared") == Some(&Value::Bool(true)),
                ..CallContext::default()
            },
            total: self.installed.limits().run_total,
        };
        let action = kind.id.clone();
        let otherwise = ActionError::Unknown(action.clone());
        Self::call(&calls, spec, otherwise, move |code, _, store| {
            Box::pin(async move { code.run(store, &action, &told, &call).await })
        })
        .await
    }
}
