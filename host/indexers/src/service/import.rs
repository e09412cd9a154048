//! Import of the aggregator's indexers as rows of ours.
//!
//! The list is read first. Then one transaction checks the caller's permission, that the link is unchanged,
//! and the present state of each row. An indexer that cannot be imported blocks no other.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{Caller, Permission, Secret};
use qm_net::CERTIFICATE;
use qm_platform::{Actor, judge_alone};
use serde_json::{Value, json};

use super::Indexers;
use super::keep::whole;
use super::link::{entry_of, keyless};
use crate::error::IndexerAreaError;
use crate::model::health::Health;
use crate::model::import::{Gone, Listed, asked_at, follow, follows_url, lose, place};
use crate::model::indexer::{
    DEFAULT_IMPLEMENTATION, DEFAULT_PACE, DEFAULT_TIMEOUT_MS, Indexer, MAX_INDEXERS, PROTOCOLS, Status,
};
use crate::model::listing::{About, Entry, Unfit};
use crate::model::proxy::Link;
use crate::model::reports::{Row, Takeover};
use crate::repo;
use crate::settings::INDEXER_PROXY;

/// One import within its transaction.
struct Import<'a> {
    app: &'a Indexers,
    tx: Tx,
    caller: Caller<'a>,
    actor: Actor,
    key: Secret,
    /// Pinned certificate of the aggregator, used for the indexers at its URL too.
    certificate: Option<String>,
    /// Number of rows, including the added ones.
    count: u64,
    /// Manually created rows by their URL.
    by_hand: HashMap<String, Row>,
    /// Imported rows by origin that no listed indexer has claimed yet.
    known: HashMap<String, Indexer>,
    report: Takeover,
}

impl Indexers {
    /// Takes over the aggregator's indexers for torrents.
    pub async fn import(&self, caller: Caller<'_>) -> Result<Takeover, IndexerAreaError> {
        let needed = &[Permission::IntegrationsIndexerProxyManage];
        judge_alone(&*self.acting, &self.db, caller.principal, needed).await?;
        let Ok(_turn) = self.import.try_lock() else {
            return Err(IndexerAreaError::Importing);
        };
        let link = self.link().await?.link;
        if !link.is_enabled {
            return Err(IndexerAreaError::LinkDisabled);
        }
        let key = self
            .link_key(&link)
            .ok_or_else(|| keyless(&link, "import its indexers"))?;
        let certificate = link.certificate.as_deref();
        let aggregator = self.aggregator(&link.internal_url, &key, certificate);
        let (about, entries) = aggregator.list().await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .judge(&mut tx, caller, Permission::IntegrationsIndexerProxyManage)
            .await?;
        let now = Link::from_stored(&self.settings.get(&mut tx, &INDEXER_PROXY).await?);
        let same = (now.is_enabled, &now.internal_url, &now.api_key)
            == (link.is_enabled, &link.internal_url, &link.api_key);
        if !same {
            return Err(IndexerAreaError::LinkChanged);
        }
        let mut rows = repo::indexers::all(&mut tx).await?;
        let count = rows.len() as u64;
        let (known, by_hand): (Vec<_>, Vec<_>) = rows.drain(..).partition(|row| row.origin.is_some());
        let origin = |row: Indexer| Some((row.origin.as_ref()?.of.clone(), row));
        let import = Import {
            app: self,
            tx,
            caller,
            actor,
            key,
            certificate: now.certificate,
            count,
            by_hand: by_hand
                .iter()
                .map(|row| (asked_at(&row.base_url), Row::from_indexer(row)))
                .collect(),
            known: known.into_iter().filter_map(origin).collect(),
            report: Takeover::default(),
        };
        import.run(about, entries).await
    }
}

impl Import<'_> {
    async fn run(mut self, about: About, entries: Vec<Entry>) -> Result<Takeover, IndexerAreaError> {
        self.report.version = about.version;
        // These entries cannot be identified, so rows with their numbers are not treated as gone.
        let mut unclear = HashSet::new();
        let mut all_clear = true;
        for entry in entries {
            match entry {
                Entry::Torrent(listed) => self.take(listed).await?,
                Entry::Other {
                    origin,
                    name,
                    protocol,
                } => {
                    let reason = format!("It is an indexer for {protocol}: those for torrents are imported");
                    let row = self.known.get(&origin).map(Row::from_indexer);
                    self.report.left.push((row, name, reason));
                }
                Entry::Unfit(unfit) => {
                    match &unfit.id {
                        Some(id) => drop(unclear.insert(id.clone())),
                        None => all_clear = false,
                    }
                    self.report.failed.push(unfit);
                }
            }
        }
        self.lose_the_rest(&unclear, all_clear).await?;
        let told = &self.report;
        let mut entry = entry_of(&self.actor, self.caller, "indexer_proxy.imported");
        entry.metadata = Some(json!({
            "added": told.added.len(), "changed": told.changed.len(), "disabled": told.disabled.len(),
            "left": told.left.len(), "failed": told.failed.len(),
        }));
        self.app.audit.record(&mut self.tx, entry).await?;
        self.tx.commit().await?;
        Ok(self.report)
    }

    async fn take(&mut self, listed: Listed) -> Result<(), IndexerAreaError> {
        if let Some(row) = self.known.remove(&listed.origin) {
            return self.go_on(row, &listed).await;
        }
        if let Some(row) = self.by_hand.get(&asked_at(&listed.base_url)) {
            let reason =
                "An indexer that was made by hand has this URL; delete it to import this one".to_owned();
            self.report.left.push((Some(row.clone()), listed.name, reason));
            return Ok(());
        }
        let row = self.new_row(&listed);
        let refused = match self.app.check(&row) {
            Err(settling @ IndexerAreaError::Settling(_)) => return Err(settling),
            Err(error) => Some(error.to_string()),
            Ok(()) if self.count >= MAX_INDEXERS => Some(IndexerAreaError::TooMany.to_string()),
            Ok(()) => None,
        };
        if let Some(reason) = refused {
            self.fail(&listed, reason);
            return Ok(());
        }
        self.count += 1;
        let inserted = repo::indexers::insert(&mut self.tx, &row).await;
        // Another server has imported it in between, with the same data.
        inserted.map_err(|error| {
            if error.is_unique_violation() {
                IndexerAreaError::Importing
            } else {
                error.into()
            }
        })?;
        self.audit("indexer.create", &row).await?;
        self.report.added.push(Row::from_indexer(&row));
        Ok(())
    }

    /// Updates a row that was imported before.
    async fn go_on(&mut self, old: Indexer, listed: &Listed) -> Result<(), IndexerAreaError> {
        let mut new = old.clone();
        let mut changed = follow(&mut new, listed);
        let key_is_theirs = follows_url(&new, listed);
        let (mut stored, wanted) = self.app.kept(&old);
        let before = whole(&old, stored.clone());
        if key_is_theirs && let Some(certificate) = &self.certificate {
            let is = Value::from(certificate.as_str());
            if stored.insert(CERTIFICATE.to_owned(), is.clone()) != Some(is) {
                changed.push("config");
            }
        }
        // The aggregator's key is sent anew with each import.
        let sent = key_is_theirs.then(|| ("apiKey".to_owned(), self.key.expose().into()));
        let sent = sent.into_iter().collect();
        self.app.settle(&mut new, stored, (&before, &sent), wanted);
        let has = new
            .api_key
            .as_deref()
            .and_then(|sealed| self.app.cipher.decrypt(sealed));
        if key_is_theirs && has.as_ref() != Some(&self.key) {
            new.api_key = Some(self.app.cipher.encrypt(self.key.expose()));
            changed.push("apiKey");
        }
        if changed.is_empty() && new.origin == old.origin {
            self.report.unchanged += 1;
            return Ok(());
        }
        let moved = changed
            .iter()
            .any(|field| ["baseUrl", "apiKey", "config"].contains(field));
        let refused = if moved { self.app.check(&new).err() } else { None };
        if let Some(settling @ IndexerAreaError::Settling(_)) = refused {
            return Err(settling);
        }
        if let Some(error) = refused {
            self.fail(listed, error.to_string());
            return Ok(());
        }
        self.store(&old, &mut new, moved).await?;
        if changed.is_empty() {
            self.report.unchanged += 1;
        } else {
            self.audit("indexer.update", &new).await?;
            self.report.changed.push((Row::from_indexer(&new), changed));
        }
        Ok(())
    }

    /// Disables rows that the aggregator no longer has; they come back as they were.
    async fn lose_the_rest(
        &mut self,
        unclear: &HashSet<String>,
        all_clear: bool,
    ) -> Result<(), IndexerAreaError> {
        let mut rest: Vec<Indexer> = std::mem::take(&mut self.known).into_values().collect();
        rest.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
        for old in rest {
            let of = old.origin.as_ref().map_or("", |origin| place(&origin.of));
            let number = of.rsplit(':').next().unwrap_or_default();
            if !all_clear || unclear.contains(number) {
                let reason = "It may be one of those that could not be read: it stays as it is".to_owned();
                self.report
                    .left
                    .push((Some(Row::from_indexer(&old)), old.name, reason));
                continue;
            }
            let mut new = old.clone();
            match lose(&mut new) {
                Gone::Known => self.report.unchanged += 1,
                Gone::Enabled => {
                    let reason =
                        "The indexer proxy no longer has it, and it was enabled again since".to_owned();
                    self.report
                        .left
                        .push((Some(Row::from_indexer(&old)), old.name, reason));
                }
                Gone::Noted => {
                    self.store(&old, &mut new, false).await?;
                    self.report.unchanged += 1;
                }
                Gone::Disabled => {
                    self.store(&old, &mut new, false).await?;
                    self.audit("indexer.update", &new).await?;
                    self.report.disabled.push(Row::from_indexer(&new));
                }
            }
        }
        Ok(())
    }

    fn new_row(&self, listed: &Listed) -> Indexer {
        let now = self.app.ctx.now();
        Indexer {
            id: self.app.ctx.id(),
            name: listed.name.clone(),
            implementation: DEFAULT_IMPLEMENTATION.to_owned(),
            protocol: PROTOCOLS[0].to_owned(),
            base_url: listed.base_url.clone(),
            api_key: Some(self.app.cipher.encrypt(self.key.expose())),
            config: self.certificate.as_ref().map(|certificate| {
                let config = json!({ CERTIFICATE: certificate });
                self.app.cipher.encrypt(&config.to_string())
            }),
            is_enabled: listed.is_enabled,
            priority: listed.priority,
            categories: listed.categories.clone(),
            min_seeders: None,
            timeout_ms: DEFAULT_TIMEOUT_MS as u32,
            requests_per_minute: DEFAULT_PACE as u32,
            capabilities: None,
            status: Status::Unknown,
            status_message: None,
            last_tested_at: None,
            health: Health::default(),
            origin: Some(listed.to_origin()),
            created_at: now,
            updated_at: now,
        }
    }

    async fn store(&mut self, old: &Indexer, new: &mut Indexer, moved: bool) -> Result<(), IndexerAreaError> {
        new.updated_at = self
            .app
            .ctx
            .now()
            .max(old.updated_at.plus(Duration::from_millis(1)));
        Ok(repo::indexers::update(&mut self.tx, new, moved).await?)
    }

    async fn audit(&mut self, action: &'static str, row: &Indexer) -> Result<(), IndexerAreaError> {
        let mut entry = self.actor.entry(action, self.caller.client);
        entry.object_type = Some("indexer");
        entry.object_id = Some(row.id.clone());
        entry.metadata =
            Some(json!({ "name": row.name, "implementation": row.implementation, "by": "indexer_proxy" }));
        Ok(self.app.audit.record(&mut self.tx, entry).await?)
    }

    fn fail(&mut self, listed: &Listed, reason: String) {
        let number = place(&listed.origin).rsplit(':').next();
        self.report.failed.push(Unfit {
            id: number.map(str::to_owned),
            name: Some(listed.name.clone()),
            reason,
        });
    }
}
