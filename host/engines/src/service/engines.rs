//! Configured engines: list, create, change, delete, test, health.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{Caller, Permission, Secret, as_error};
use qm_platform::config_schema::BadSchema;
use qm_platform::origins::{self, Places};
use qm_platform::{Actor, AuditEntry, AuditResult};
use qm_ports::engine::EngineError;
use serde_json::{Map, Value, json};

use super::{Engines, audit_entry};
use crate::dto::engines::{CreateEngine, EngineView, HealthView, IdView, KindView, TestEngine, UpdateEngine};
use crate::error::TorrentsError;
use crate::model::engine::{
    KNOWN_KINDS, SCGI_CLIENT, driver_config, keeps_secret, read_config, secret_names,
};
use crate::model::mappings::{PathMapping, PathMappings};
use crate::model::silence::silent_since;
use crate::model::stored::EngineRow;
use crate::model::userinfo::{self, Parted};
use crate::repo;
use crate::sync::pulse;

const OBJECT: &str = "torrent_engine";

/// Time limit on waiting for an engine that is asked how it is.
const HEALTH_PATIENCE: Duration = Duration::from_secs(2);

impl Engines {
    pub async fn list_engines(&self) -> Result<Vec<EngineView>, TorrentsError> {
        let mut tx = self.db.begin_read().await?;
        Ok(repo::engines::list(&mut tx)
            .await?
            .into_iter()
            .map(|row| {
                let standing = self.registry.standing(&row.id);
                EngineView::new(row, standing)
            })
            .collect())
    }

    /// The kinds that installed plugins provide, by their ids.
    pub fn engine_kinds(&self) -> Vec<KindView> {
        let mut kinds: Vec<KindView> = self.kinds.kinds().into_iter().map(KindView::from).collect();
        kinds.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        kinds
    }

    pub async fn create_engine(
        &self,
        caller: Caller<'_>,
        new: CreateEngine,
    ) -> Result<IdView, TorrentsError> {
        let (config, secret_fields) = self.stored_config(&new.kind, &new.config, None)?;
        let engine = EngineRow {
            id: self.ctx.id(),
            name: new.name,
            kind: new.kind,
            config,
            secret_fields,
            path_mappings: read_mappings(new.path_mappings.unwrap_or_default())?,
            is_default: new.is_default,
            is_enabled: new.is_enabled,
        };
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        if engine.is_default {
            repo::engines::clear_default(&mut tx).await?;
        }
        repo::engines::insert(&mut tx, &engine, now).await?;
        let mut metadata = json!({ "name": engine.name, "kind": engine.kind });
        if !engine.path_mappings.is_empty() {
            metadata["pathMappings"] = json!(engine.path_mappings);
        }
        self.audit_engine(&mut tx, &actor, caller, "engines.create", &engine.id, metadata)
            .await?;
        tx.commit().await?;
        self.registry.reload().await?;
        Ok(IdView::from_row(&engine))
    }

    pub async fn update_engine(
        &self,
        caller: Caller<'_>,
        id: &str,
        changes: UpdateEngine,
    ) -> Result<IdView, TorrentsError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let stored = held(&mut tx, id).await?;
        let mut engine = stored.clone();
        if let Some(name) = changes.name {
            engine.name = name;
        }
        if let Some(config) = changes.config {
            (engine.config, engine.secret_fields) =
                self.stored_config(&stored.kind, &config, Some(&stored))?;
        }
        if let Some(mappings) = changes.path_mappings {
            engine.path_mappings = read_mappings(mappings)?;
        }
        let is_mapped_anew = engine.path_mappings != stored.path_mappings;
        engine.is_enabled = changes.is_enabled.unwrap_or(engine.is_enabled);
        engine.is_default = changes.is_default.unwrap_or(engine.is_default);
        if engine.config != stored.config || is_mapped_anew || (stored.is_enabled && !engine.is_enabled) {
            self.refuse_moving(&mut tx, id).await?;
        }
        if changes.is_default == Some(true) {
            repo::engines::clear_default(&mut tx).await?;
        }
        repo::engines::update(&mut tx, &engine, now).await?;
        let answer = IdView::from_row(&engine);
        let mut metadata = json!({ "name": engine.name, "kind": engine.kind });
        if !answer.secrets_wanted.is_empty() {
            metadata["secretsWanted"] = json!(answer.secrets_wanted);
        }
        if is_mapped_anew {
            metadata["pathMappings"] = json!(engine.path_mappings);
        }
        self.audit_engine(&mut tx, &actor, caller, "engines.update", id, metadata)
            .await?;
        tx.commit().await?;
        self.registry.reload().await?;
        Ok(answer)
    }

    /// Deletes an engine: it is gone for everybody when this returns. Its instance ends and its rows go afterwards, however
    /// many there are.
    pub async fn delete_engine(self: &Arc<Self>, caller: Caller<'_>, id: &str) -> Result<(), TorrentsError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let engine = held(&mut tx, id).await?;
        self.refuse_moving(&mut tx, id).await?;
        repo::engines::delete(&mut tx, id, now).await?.exactly(1)?;
        let metadata = json!({ "name": engine.name, "kind": engine.kind });
        self.audit_engine(&mut tx, &actor, caller, "engines.delete", id, metadata)
            .await?;
        // Before the commit: nothing is polled or told of an engine that is gone. Whatever the commit comes to, the reload
        // brings what is loaded in line with it.
        self.registry.discard(id);
        let committed = tx.commit().await;
        self.reload_soon();
        self.upkeep.has_deleted();
        Ok(committed?)
    }

    /// Brings what is loaded in line with the database, while nobody waits for it.
    pub(super) fn reload_soon(self: &Arc<Self>) {
        let engines = self.clone();
        tokio::spawn(async move {
            if let Err(error) = engines.registry.reload().await {
                let error = as_error(&error);
                tracing::error!(error, "engines were not reloaded after one was deleted");
            }
        });
    }

    /// Tries a configuration out; stores none of it. Whatever goes wrong with the engine is part of the answer. Audited,
    /// because stored secrets may be used. They are sent nowhere but where they were entered for.
    pub async fn test_engine(
        &self,
        caller: Caller<'_>,
        test: TestEngine,
    ) -> Result<HealthView, TorrentsError> {
        let health = self.try_engine(caller, &test).await?;
        let object = test.engine_id.as_deref().map(|id| (OBJECT, id));
        let entry = match &health.error {
            None => audit_entry(caller, "engines.test", object, Some(json!({ "kind": test.kind }))),
            Some(message) => AuditEntry {
                result: AuditResult::Failure,
                ..audit_entry(
                    caller,
                    "engines.test",
                    object,
                    Some(json!({ "kind": test.kind, "message": message })),
                )
            },
        };
        self.audit.record_alone(&self.db, entry).await;
        Ok(health)
    }

    async fn try_engine(&self, caller: Caller<'_>, test: &TestEngine) -> Result<HealthView, TorrentsError> {
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller).await?;
        let stored = match &test.engine_id {
            Some(id) => Some(
                repo::engines::find(&mut tx, id)
                    .await?
                    .ok_or(TorrentsError::NoSuchEngine)?,
            ),
            None => None,
        };
        // Not held while the engine is asked.
        tx.commit().await?;
        let (config, secret_fields) = self.stored_config(&test.kind, &test.config, stored.as_ref())?;
        let id = format!("test-{}", self.ctx.id());
        match self
            .registry
            .open_driver(&id, &test.kind, &config, &secret_fields)
            .await
        {
            Ok(driver) => {
                let health = pulse::ask_driver(&*driver, "The engine", &self.ctx).await;
                driver.close().await;
                Ok(health)
            }
            Err(error) => Ok(HealthView::offline(error.to_string(), self.ctx.now())),
        }
    }

    /// An engine whose paths the caller checks; that reads directories of the server, and is for those alone who configure engines.
    pub async fn find_to_check(&self, caller: Caller<'_>, id: &str) -> Result<EngineRow, TorrentsError> {
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller).await?;
        let engine = repo::engines::find(&mut tx, id).await?;
        tx.commit().await?;
        engine.ok_or(TorrentsError::NoSuchEngine)
    }

    /// Asks an engine whether it is there; one that is not is still an answer. Of one that hangs, what is known.
    pub async fn engine_health(&self, engine_id: Option<&str>) -> Result<HealthView, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let answer = pulse::ask(&engine, &self.ctx, HEALTH_PATIENCE).await;
        let mut health = answer.unwrap_or_else(|| pulse::known(&engine, &self.ctx));
        health.limited = engine.status().and_then(|status| status.limited.clone());
        Ok(health)
    }

    /// Moves user names and passwords inside URLs, which were stored before they were refused, to the fields beside them,
    /// the passwords encrypted.
    pub(super) async fn part_urls(&self) -> Result<(), TorrentsError> {
        let mut tx = self.db.begin_write().await?;
        for mut engine in repo::engines::list(&mut tx).await? {
            let found = userinfo::fields(&engine.config, &engine.secret_fields);
            let found: Vec<(String, Parted)> = found
                .into_iter()
                .map(|(name, parted)| (name.to_owned(), parted))
                .collect();
            if found.is_empty() {
                continue;
            }
            for (name, parted) in found {
                self.part_url(&mut engine, name, parted);
            }
            repo::engines::update(&mut tx, &engine, self.ctx.now()).await?;
            tracing::warn!(
                engine = engine.name,
                "the user name and password inside the engine's URL are in its fields `username` and `password` now"
            );
        }
        Ok(tx.commit().await?)
    }

    fn part_url(&self, engine: &mut EngineRow, name: String, parted: Parted) {
        let EngineRow {
            config,
            secret_fields,
            ..
        } = engine;
        config.insert(name, parted.url.into());
        // rTorrent's web server had no other login; whatever else has its own keeps that.
        let has_login = config.contains_key("username") || config.contains_key("password");
        if has_login && engine.kind != SCGI_CLIENT {
            return;
        }
        config.insert("username".into(), parted.username.into());
        config.insert("password".into(), self.cipher.encrypt(&parted.password).into());
        if !secret_fields.iter().any(|field| field == "password") {
            secret_fields.push("password".into());
        }
    }

    /// The stored form of a request's `config`: checked, its secrets encrypted or kept from `before`.
    fn stored_config(
        &self,
        kind_id: &str,
        given: &Map<String, Value>,
        before: Option<&EngineRow>,
    ) -> Result<(Map<String, Value>, Vec<String>), TorrentsError> {
        // Asked first: what settles in between is found.
        let settling = self.kinds.settling(kind_id);
        let kind = self.kinds.kind(kind_id);
        if let Some(settling) = settling.filter(|_| kind.is_none()) {
            return Err(settling.into());
        }
        let known =
            KNOWN_KINDS.contains(&kind_id) || kind.is_some() || before.is_some_and(|row| row.kind == kind_id);
        if !known {
            let message = format!(
                "kind must be one of the following values: {}",
                self.kind_names().join(", ")
            );
            return Err(TorrentsError::Fields(vec![message]));
        }
        // What another kind of engine stored is none of this one's.
        let before = before.filter(|row| row.kind == kind_id);
        let mut was = before.map(|row| row.config.clone()).unwrap_or_default();
        let wanted = origins::take_wanted(&mut was);
        let stored = before.map(|_| &was);
        let mut read = read_config(kind_id, kind.as_ref(), &self.kinds.kinds(), stored, given);
        let mut config = read.fields.clone();
        let mut secrets = secret_names(kind.as_ref());
        if kind.is_none() {
            // Which of its fields are secret is only known of what is stored.
            secrets.extend(before.iter().flat_map(|row| row.secret_fields.iter().cloned()));
        }
        let hidden: Vec<String> = secrets.iter().cloned().collect();
        let revealing = userinfo::fields(&config, &hidden);
        if !revealing.is_empty() {
            let rules = revealing.iter().map(|(name, _)| {
                format!(
                    "config.{name} must not hold a user name or a password: enter them as config.username and config.password"
                )
            });
            return Err(TorrentsError::Fields(rules.collect()));
        }
        let mut secret_fields = Vec::new();
        for name in secrets.clone() {
            let sent = config.remove(&name);
            let kept = || {
                let row = before.filter(|row| row.secret_fields.contains(&name))?;
                row.config.get(&name).cloned()
            };
            let value = match sent {
                Some(value) if !keeps_secret(Some(&value)) => Some(self.encrypted(&value).into()),
                // Null takes it away.
                None if given.get(&name).is_some_and(Value::is_null) => None,
                Some(_) | None => kept(),
            };
            if let Some(value) = value {
                config.insert(name.clone(), value);
                secret_fields.push(name);
            }
        }
        // Of a kind nobody provides it is only known what is stored encrypted.
        let marked = |name: &String| (name.clone(), json!({ "writeOnly": secrets.contains(name) }));
        let stored_so: Map<String, Value> = was.keys().chain(config.keys()).map(marked).collect();
        let schema = kind.as_ref().map_or_else(
            || json!({ "properties": stored_so }),
            |kind| kind.config_schema.clone(),
        );
        // Where its driver would go, defaults included.
        let places = |config: &Map<String, Value>| {
            Places::in_config(Some(&schema), &driver_config(kind_id, config, Vec::new()).fields)
        };
        let change = origins::Change {
            schema: Some(&schema),
            before: &was,
            sent: given,
            places: (&places(&was), &places(&config)),
        };
        let wanted = match before {
            Some(_) => change.settle(&mut config, wanted),
            None => Vec::new(),
        };
        secret_fields.retain(|name| config.contains_key(name));
        if let Some(kind) = &kind {
            let whole = self.registry.in_clear(&config, &secret_fields);
            let broken = |error: BadSchema| EngineError::Plugin(error.to_string());
            read.judge(kind, &whole)
                .map_err(broken)
                .map_err(TorrentsError::blame_engine(&kind.label))?;
        }
        if read.broken.is_empty() {
            origins::put_wanted(&mut config, &wanted);
            Ok((config, secret_fields))
        } else {
            Err(TorrentsError::Fields(read.messages()))
        }
    }

    fn encrypted(&self, value: &Value) -> String {
        let secret = Secret::new(
            value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned),
        );
        self.cipher.encrypt(secret.expose())
    }

    /// The kinds that may be stored: the contract's four, then whatever else is installed.
    fn kind_names(&self) -> Vec<String> {
        let mut installed: Vec<String> = self.kinds.kinds().into_iter().map(|kind| kind.id).collect();
        installed.retain(|id| !KNOWN_KINDS.contains(&id.as_str()));
        installed.sort_unstable();
        KNOWN_KINDS
            .iter()
            .map(|id| (*id).to_owned())
            .chain(installed)
            .collect()
    }

    /// Refuses what would part an engine from a torrent whose data is under way. A move that only waits, perhaps for an
    /// engine that is gone for good or has another address now, is in nobody's way.
    async fn refuse_moving(&self, tx: &mut Tx, engine_id: &str) -> Result<(), TorrentsError> {
        let alive_since = silent_since(self.ctx.now());
        match repo::moves::under_way(tx, engine_id, alive_since).await? {
            Some((name, destination)) => Err(TorrentsError::EngineMoves { name, destination }),
            None => Ok(()),
        }
    }

    /// Checks that the caller may still configure engines, because that decides where stored secrets go.
    async fn judge(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, TorrentsError> {
        let needed = [Permission::EnginesManage];
        Ok(self.acting.judge(tx, caller.principal, &needed).await?)
    }

    async fn audit_engine(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        caller: Caller<'_>,
        action: &'static str,
        id: &str,
        metadata: Value,
    ) -> Result<(), TorrentsError> {
        let entry = AuditEntry {
            object_type: Some(OBJECT),
            object_id: Some(id.to_owned()),
            metadata: Some(metadata),
            ..actor.entry(action, caller.client)
        };
        Ok(self.audit.record(tx, entry).await?)
    }
}

/// Mappings as they are stored, if they mean one thing.
fn read_mappings(mappings: Vec<PathMapping>) -> Result<Vec<PathMapping>, TorrentsError> {
    PathMappings::read(&mappings).map_err(TorrentsError::Fields)?;
    Ok(mappings)
}

/// An engine that no other transaction changes until this one ends.
async fn held(tx: &mut Tx, id: &str) -> Result<EngineRow, TorrentsError> {
    if repo::engines::hold(tx, id).await?.rows() == 0 {
        return Err(TorrentsError::NoSuchEngine);
    }
    let engine = repo::engines::find(tx, id).await?;
    engine.ok_or(TorrentsError::NoSuchEngine)
}
