//! Reading and changing media servers. The permission is checked in the transaction of the change.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::Caller;
use qm_platform::Actor;
use qm_platform::config_schema::{BrokenRule, broken_rules};
use qm_platform::origins::{self, Places, put_wanted, take_wanted};
use qm_ports::media_server::MediaServerKind;
use serde_json::{Map, Value, json};

use super::Integrations;
use crate::error::MediaServersError;
use crate::model::{
    Change, Integration, MAX_INTEGRATIONS, PLAIN, SECRETS, Shown, Status, changed, handed_on, names_somebody,
    shown,
};
use crate::repo;

/// Property names of the address; the second is an older one.
const ADDRESSES: [&str; 2] = ["baseUrl", "url"];

impl Integrations {
    /// Every media server, the oldest first.
    pub async fn list(&self) -> Result<Vec<Shown>, MediaServersError> {
        let all = repo::integrations::all(&mut self.db.begin_read().await?).await?;
        let kinds = self.kinds.kinds();
        Ok(all.into_iter().map(|one| self.shown(one, &kinds)).collect())
    }

    fn shown(&self, integration: Integration, kinds: &[MediaServerKind]) -> Shown {
        let kind = kinds.iter().find(|kind| kind.id == integration.kind);
        let mut stored = self.opened(&integration).unwrap_or_default();
        let wanted = take_wanted(&mut stored);
        Shown {
            config: shown(kind.map(|kind| &kind.config_schema), &stored),
            wanted,
            integration,
        }
    }

    /// Creates a server; it is not contacted yet.
    pub async fn create(&self, caller: Caller<'_>, new: Change) -> Result<Shown, MediaServersError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if !named(&new.name) || !named(&new.kind) {
            return Err(MediaServersError::Nameless);
        }
        let mut integration = Integration {
            id: self.ctx.id(),
            name: String::new(),
            kind: String::new(),
            is_enabled: true,
            config: self.sealed(&Map::new()),
            status: Status::Unknown,
            last_refresh_at: None,
            last_health_check_at: None,
            server_version: None,
            created_at: now,
            updated_at: now,
        };
        self.apply(new, &mut integration)?;
        if repo::integrations::count(&mut tx).await? >= MAX_INTEGRATIONS {
            return Err(MediaServersError::TooMany);
        }
        repo::integrations::insert(&mut tx, &integration).await?;
        self.audited(tx, caller, &actor, "media.integration.create", &integration)
            .await?;
        Ok(self.shown(integration, &self.kinds.kinds()))
    }

    /// Changes a server. Another configuration or kind resets status and version.
    pub async fn update(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: Change,
    ) -> Result<Shown, MediaServersError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let stored = repo::integrations::find(&mut tx, id).await?;
        let old = stored.ok_or(MediaServersError::NoSuchIntegration)?;
        let mut new = old.clone();
        self.apply(change, &mut new)?;
        if new.kind != old.kind || new.config != old.config {
            new.status = Status::Unknown;
            new.server_version = None;
        }
        // Two changes within a millisecond are two versions.
        new.updated_at = self.ctx.now().max(old.updated_at.plus(Duration::from_millis(1)));
        repo::integrations::update(&mut tx, &new).await?;
        self.audited(tx, caller, &actor, "media.integration.update", &new)
            .await?;
        Ok(self.shown(new, &self.kinds.kinds()))
    }

    pub async fn delete(&self, caller: Caller<'_>, id: &str) -> Result<(), MediaServersError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let stored = repo::integrations::find(&mut tx, id).await?;
        let integration = stored.ok_or(MediaServersError::NoSuchIntegration)?;
        repo::integrations::delete(&mut tx, id).await?;
        self.audited(tx, caller, &actor, "media.integration.delete", &integration)
            .await
    }

    async fn audited(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        integration: &Integration,
    ) -> Result<(), MediaServersError> {
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("media_server_integration");
        entry.object_id = Some(integration.id.clone());
        entry.metadata = Some(json!({ "name": integration.name, "kind": integration.kind }));
        self.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }

    /// Applies a change. The plugin's schema checks the configuration when any part of it changes; a server
    /// without its plugin can still be renamed or disabled.
    fn apply(&self, change: Change, to: &mut Integration) -> Result<(), MediaServersError> {
        let configures = change.kind.is_some() || change.config.is_some();
        if let Some(name) = change.name {
            if name.is_empty() {
                return Err(MediaServersError::Nameless);
            }
            to.name = name;
        }
        if let Some(kind) = change.kind {
            to.kind = kind;
        }
        if let Some(is_enabled) = change.is_enabled {
            to.is_enabled = is_enabled;
        }
        let mut config = self.opened(to).unwrap_or_default();
        let wanted = take_wanted(&mut config);
        if let Some(sent) = change.config {
            let mut new = changed(&config, sent.clone());
            let told = |(name, value): (&String, &Value)| {
                let tells = !SECRETS.contains(&name.as_str()) && names_somebody(name, value.as_str()?);
                tells.then(|| {
                    format!(
                        "config.{name} must not hold a user name or a password: `username` and `password` are for that, and \
                         are encrypted"
                    )
                })
            };
            let mut told: Vec<String> = new.iter().filter_map(told).collect();
            let goes_on = |name: &&&str| {
                let url = new.get(**name).and_then(Value::as_str);
                url.is_some_and(|url| url.contains(['?', '#']))
            };
            // It is displayed, and a part behind its path may be a key.
            told.extend(ADDRESSES.iter().filter(goes_on).map(|name| {
                format!(
                    "config.{name} must end with its path: no ? and no #; secrets have fields of their own"
                )
            }));
            if !told.is_empty() {
                return Err(MediaServersError::Config(told));
            }
            let still_wanted = self.settle(&to.kind, (&config, &sent), &mut new, wanted.clone());
            if new != config || still_wanted != wanted {
                let mut stored = new.clone();
                put_wanted(&mut stored, &still_wanted);
                to.config = self.sealed(&stored);
                config = new;
            }
        }
        if configures {
            self.check(&to.kind, config)
        } else {
            Ok(())
        }
    }

    /// Removes secrets from `new` that were entered for another address. Returns the names of the secrets to
    /// enter again.
    fn settle(
        &self,
        kind: &str,
        (before, sent): (&Map<String, Value>, &Map<String, Value>),
        new: &mut Map<String, Value>,
        wanted: Vec<String>,
    ) -> Vec<String> {
        let kinds = self.kinds.kinds();
        let kind = kinds.iter().find(|known| known.id == kind);
        // Some names are always secrets, and some never, whatever the schema says.
        let named = kind.and_then(|kind| kind.config_schema.get("properties")?.as_object());
        let mut named = named.cloned().unwrap_or_default();
        named.extend(SECRETS.map(|name| (name.to_owned(), json!({ "writeOnly": true }))));
        for name in PLAIN {
            named.entry(name).or_insert_with(|| json!({}));
        }
        let schema = json!({ "properties": named });
        let places =
            |config: &Map<String, Value>| Places::in_config(Some(&schema), &handed_on(config.clone()));
        let (was, is) = (places(before), places(new));
        let change = origins::Change {
            schema: Some(&schema),
            before,
            sent,
            places: (&was, &is),
        };
        change.settle(new, wanted)
    }

    /// Refuses a kind without a plugin, and values that the plugin's schema does not allow. Unknown
    /// properties are kept without use.
    fn check(&self, kind: &str, config: Map<String, Value>) -> Result<(), MediaServersError> {
        self.settled(kind)?;
        let kinds = self.kinds.kinds();
        let Some(kind) = kinds.iter().find(|known| known.id == kind) else {
            let known: Vec<&str> = kinds.iter().map(|kind| kind.id.as_str()).collect();
            let none = known.is_empty();
            return Err(MediaServersError::NoSuchKind {
                asked: kind.to_owned(),
                known: if none { "none".to_owned() } else { known.join(", ") },
            });
        };
        let broken = broken_rules(&kind.config_schema, &handed_on(config))
            .map_err(|error| MediaServersError::BadSchema(kind.label.clone(), error))?;
        if broken.is_empty() {
            return Ok(());
        }
        let messages = broken.iter().map(BrokenRule::message);
        Err(MediaServersError::Config(messages.collect()))
    }

    /// Refuses an unknown kind while plugins are still being compiled.
    pub(super) fn settled(&self, kind: &str) -> Result<(), MediaServersError> {
        if self.kinds.kinds().iter().any(|known| known.id == kind) {
            return Ok(());
        }
        Ok(self.kinds.settling(kind).map_or(Ok(()), Err)?)
    }

    fn sealed(&self, config: &Map<String, Value>) -> String {
        self.cipher.encrypt(&Value::Object(config.clone()).to_string())
    }

    /// Decrypted configuration; `None` when it cannot be read.
    pub(super) fn opened(&self, integration: &Integration) -> Option<Map<String, Value>> {
        serde_json::from_str(self.cipher.decrypt(&integration.config)?.expose()).ok()
    }
}
