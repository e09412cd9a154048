//! Reading and changing indexers. An indexer's key is used on behalf of every searcher, so the permission to
//! change one is checked in the transaction of the change.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_platform::Actor;
use qm_platform::config_schema::broken_or_unknown;
use qm_platform::origins::{self, Places, put_wanted, take_wanted};
use serde_json::{Map, Value, json};

use super::Indexers;
use crate::error::IndexerAreaError;
use crate::model::change::{Change, Shown};
use crate::model::config::{OWN, changed, shown};
use crate::model::health::Health;
use crate::model::indexer::{
    DEFAULT_CATEGORIES, DEFAULT_IMPLEMENTATION, DEFAULT_PACE, DEFAULT_PRIORITY, DEFAULT_TIMEOUT_MS, Indexer,
    MAX_INDEXERS, PROTOCOLS, Status,
};
use crate::repo;

impl Indexers {
    /// Every indexer, in search order.
    pub async fn list(&self) -> Result<Vec<Shown>, IndexerAreaError> {
        let all = repo::indexers::all(&mut self.db.begin_read().await?).await?;
        let kinds = self.implementations();
        let show = |indexer: Indexer| {
            let kind = kinds.iter().find(|kind| kind.id == indexer.implementation);
            self.shown_by(indexer, kind.map(|kind| &kind.config_schema))
        };
        Ok(all.into_iter().map(show).collect())
    }

    pub async fn find(&self, id: &str) -> Result<Shown, IndexerAreaError> {
        Ok(self.shown(self.stored(id).await?))
    }

    /// The indexer with the part of its configuration that may be shown.
    pub fn shown(&self, indexer: Indexer) -> Shown {
        let kind = self.kind(&indexer.implementation);
        self.shown_by(indexer, kind.as_ref().map(|kind| &kind.config_schema))
    }

    fn shown_by(&self, indexer: Indexer, schema: Option<&Value>) -> Shown {
        let (stored, wanted) = self.kept(&indexer);
        Shown {
            config: shown(schema, &stored),
            is_installed: schema.is_some(),
            wanted,
            indexer,
        }
    }

    pub async fn create(&self, caller: Caller<'_>, new: Change) -> Result<Shown, IndexerAreaError> {
        let now = self.ctx.now();
        let mut indexer = Indexer {
            id: self.ctx.id(),
            name: String::new(),
            implementation: DEFAULT_IMPLEMENTATION.to_owned(),
            protocol: PROTOCOLS[0].to_owned(),
            base_url: String::new(),
            api_key: None,
            config: None,
            is_enabled: true,
            priority: DEFAULT_PRIORITY,
            categories: DEFAULT_CATEGORIES.to_vec(),
            min_seeders: None,
            timeout_ms: DEFAULT_TIMEOUT_MS as u32,
            requests_per_minute: DEFAULT_PACE as u32,
            capabilities: None,
            status: Status::Unknown,
            status_message: None,
            last_tested_at: None,
            health: Health::default(),
            origin: None,
            created_at: now,
            updated_at: now,
        };
        self.admit_addresses(caller, &new, None).await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller, Permission::IndexersManage).await?;
        self.apply(new, &mut indexer)?;
        if repo::indexers::count(&mut tx).await? >= MAX_INDEXERS {
            return Err(IndexerAreaError::TooMany);
        }
        repo::indexers::insert(&mut tx, &indexer).await?;
        self.audited(tx, caller, &actor, "indexer.create", &indexer)
            .await?;
        Ok(self.shown(indexer))
    }

    pub async fn update(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: Change,
    ) -> Result<Shown, IndexerAreaError> {
        if change.base_url.is_some() || change.config.is_some() {
            let before = self.stored(id).await?.base_url;
            self.admit_addresses(caller, &change, Some(&before)).await?;
        }
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller, Permission::IndexersManage).await?;
        let stored = repo::indexers::find(&mut tx, id).await?;
        let old = stored.ok_or(IndexerAreaError::NoSuchIndexer)?;
        let mut new = old.clone();
        self.apply(change, &mut new)?;
        // Two changes within a millisecond are two versions.
        new.updated_at = self.ctx.now().max(old.updated_at.plus(Duration::from_millis(1)));
        let same = |indexer: &Indexer| {
            (
                indexer.base_url.clone(),
                indexer.implementation.clone(),
                indexer.api_key.clone(),
                indexer.config.clone(),
            )
        };
        repo::indexers::update(&mut tx, &new, same(&old) != same(&new)).await?;
        self.audited(tx, caller, &actor, "indexer.update", &new).await?;
        self.find(id).await
    }

    pub async fn delete(&self, caller: Caller<'_>, id: &str) -> Result<(), IndexerAreaError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller, Permission::IndexersManage).await?;
        let stored = repo::indexers::find(&mut tx, id).await?;
        let indexer = stored.ok_or(IndexerAreaError::NoSuchIndexer)?;
        repo::indexers::delete(&mut tx, id).await?;
        self.audited(tx, caller, &actor, "indexer.delete", &indexer).await
    }

    async fn audited(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        indexer: &Indexer,
    ) -> Result<(), IndexerAreaError> {
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("indexer");
        entry.object_id = Some(indexer.id.clone());
        entry.metadata = Some(json!({ "name": indexer.name, "implementation": indexer.implementation }));
        self.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }

    /// Applies a change. The plugin's schema checks the configuration when any part of it changes; an indexer
    /// without its plugin can still be renamed or disabled.
    fn apply(&self, change: Change, to: &mut Indexer) -> Result<(), IndexerAreaError> {
        let configures = change.implementation.is_some()
            || change.base_url.is_some()
            || change.api_key.is_some()
            || change.config.is_some();
        let (stored, wanted) = self.kept(to);
        let before = whole(to, stored.clone());
        let mut sent = change.config.clone().unwrap_or_default();
        if let Some(key) = &change.api_key {
            let key = key.as_ref().map_or(Value::Null, |key| key.expose().into());
            sent.insert("apiKey".to_owned(), key);
        }
        put(&mut to.name, change.name);
        put(&mut to.implementation, change.implementation);
        put(&mut to.protocol, change.protocol);
        put(&mut to.base_url, change.base_url);
        put(&mut to.is_enabled, change.is_enabled);
        put(&mut to.priority, change.priority);
        put(&mut to.categories, change.categories);
        put(&mut to.min_seeders, change.min_seeders);
        put(&mut to.timeout_ms, change.timeout_ms);
        put(&mut to.requests_per_minute, change.requests_per_minute);
        if let Some(key) = change.api_key {
            to.api_key = key.map(|key| self.cipher.encrypt(key.expose()));
        }
        if configures {
            let new = change
                .config
                .map_or_else(|| stored.clone(), |sent| changed(&stored, sent));
            self.settle(to, new, (&before, &sent), wanted);
            self.check(to)
        } else {
            Ok(())
        }
    }

    /// Stores the protocol-specific configuration. Secrets that were entered for another address are dropped.
    pub(super) fn settle(
        &self,
        indexer: &mut Indexer,
        config: Map<String, Value>,
        (before, sent): (&Map<String, Value>, &Map<String, Value>),
        wanted: Vec<String>,
    ) {
        let kind = self.kind(&indexer.implementation);
        let schema = kind.as_ref().map(|kind| &kind.config_schema);
        let mut after = whole(indexer, config);
        let change = origins::Change {
            schema,
            before,
            sent,
            places: (
                &Places::in_config(schema, before),
                &Places::in_config(schema, &after),
            ),
        };
        let wanted = change.settle(&mut after, wanted);
        if after.remove("apiKey").is_none() {
            indexer.api_key = None;
        }
        after.remove("baseUrl");
        put_wanted(&mut after, &wanted);
        // Unchanged values keep their ciphertext, and so does an unreadable one until it is entered anew.
        let stored = indexer.config.as_deref().map(|sealed| self.opened(sealed));
        let is_same = match stored {
            None => after.is_empty(),
            Some(None) => after.is_empty() && sent.keys().all(|name| name == "apiKey"),
            Some(Some(stored)) => stored == after,
        };
        if !is_same {
            let text = Value::Object(after.clone()).to_string();
            indexer.config = (!after.is_empty()).then(|| self.cipher.encrypt(&text));
        }
    }

    /// Protocol-specific configuration, and the names of the secrets to enter again.
    pub(super) fn kept(&self, indexer: &Indexer) -> (Map<String, Value>, Vec<String>) {
        let stored = indexer.config.as_deref().and_then(|sealed| self.opened(sealed));
        let mut stored = stored.unwrap_or_default();
        let wanted = take_wanted(&mut stored);
        (stored, wanted)
    }

    /// Refuses a configuration that the plugin's schema does not allow.
    pub(super) fn check(&self, indexer: &Indexer) -> Result<(), IndexerAreaError> {
        self.settled(&indexer.implementation)?;
        let kinds = self.implementations();
        let Some(kind) = kinds.iter().find(|kind| kind.id == indexer.implementation) else {
            let known: Vec<&str> = kinds.iter().map(|kind| kind.id.as_str()).collect();
            return Err(IndexerAreaError::NoSuchImplementation {
                asked: indexer.implementation.clone(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            });
        };
        let named = |name: &str| {
            let properties = kind.config_schema.get("properties");
            properties.is_some_and(|properties| properties.get(name).is_some())
        };
        let config = self
            .fields_of(indexer)
            .map_err(|error| IndexerAreaError::Config(vec![error.to_string()]))?;
        let mut fields = config.fields;
        if named("timeoutMs") {
            fields.insert("timeoutMs".to_owned(), config.timeout_ms.into());
        }
        // Our own fields that the schema does not know are left out; properties sent in `config` are checked.
        fields.retain(|name, _| named(name) || !OWN.contains(&name.as_str()));
        let broken = broken_or_unknown(&kind.config_schema, &fields)
            .map_err(|error| IndexerAreaError::BadSchema(kind.label.clone(), error))?;
        if broken.is_empty() {
            return Ok(());
        }
        // Names in the message are those of the request: the three own fields are top-level.
        let message = |rule: &qm_platform::config_schema::BrokenRule| {
            let text = rule.message();
            if OWN.contains(&rule.property()) {
                text.replacen("config.", "", 1)
            } else {
                text
            }
        };
        Err(IndexerAreaError::Config(broken.iter().map(message).collect()))
    }
}

/// The whole configuration, with URL and encrypted key.
pub(super) fn whole(indexer: &Indexer, mut config: Map<String, Value>) -> Map<String, Value> {
    config.extend(
        indexer
            .api_key
            .as_deref()
            .map(|sealed| ("apiKey".to_owned(), sealed.into())),
    );
    config.insert("baseUrl".to_owned(), indexer.base_url.as_str().into());
    config
}

fn put<T>(field: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *field = new;
    }
}
