//! Settings of the link to the aggregator, and its status.

use qm_kernel::{Caller, Permission, Secret};
use qm_platform::origins::{complaint, is_same_origin};
use qm_platform::{Actor, AuditEntry, AuditResult, judge_alone};
use serde_json::{Value, json};

use super::Indexers;
use super::aggregator::{Aggregator, LIST_PATIENCE, PATIENCE};
use crate::error::IndexerAreaError;
use crate::model::indexer::Status;
use crate::model::proxy::{Checked, Link, LinkChange, tidy_url, url_fault};
use crate::model::reports::{AggregatorError, LinkPatch, Probe, ShownLink, Trial};
use crate::settings::INDEXER_PROXY;

/// Number of concurrent requests to the aggregator.
pub(super) const PROBES: usize = 4;

impl Indexers {
    pub async fn link(&self) -> Result<ShownLink, IndexerAreaError> {
        let stored = self
            .settings
            .get(&mut self.db.begin_read().await?, &INDEXER_PROXY)
            .await?;
        let link = Link::from_stored(&stored);
        Ok(ShownLink {
            has_key: self.link_key(&link).is_some(),
            link,
        })
    }

    /// The decrypted key; one that cannot be decrypted counts as none.
    pub(super) fn link_key(&self, link: &Link) -> Option<Secret> {
        link.api_key
            .as_deref()
            .and_then(|sealed| self.cipher.decrypt(sealed))
    }

    pub async fn change_link(
        &self,
        caller: Caller<'_>,
        patch: LinkPatch,
    ) -> Result<ShownLink, IndexerAreaError> {
        let internal_url = checked("internalUrl", patch.internal_url)?;
        if let Some(url) = &internal_url {
            let before = self.link().await?.link.internal_url;
            self.admit_address(caller, url, Some(&before)).await?;
        }
        let _turn = self.link_changes.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .judge(&mut tx, caller, Permission::IntegrationsIndexerProxyManage)
            .await?;
        let new_key = patch.api_key.is_some();
        let change = LinkChange {
            is_enabled: patch.is_enabled,
            internal_url,
            public_url: checked("publicUrl", patch.public_url)?,
            certificate: patch.certificate,
            api_key: patch
                .api_key
                .map(|key| key.map(|key| self.cipher.encrypt(key.expose()))),
        };
        let mut stored = self.settings.get(&mut tx, &INDEXER_PROXY).await?;
        change.apply(&mut stored);
        self.settings.put(&mut tx, &INDEXER_PROXY, &stored).await?;
        let link = Link::from_stored(&stored);
        let updated = json!({ "enabled": link.is_enabled });
        let entry = entry(&actor, caller, "indexer_proxy.settings.updated", Some(updated));
        self.audit.record(&mut tx, entry).await?;
        if new_key {
            let entry = entry_of(&actor, caller, "indexer_proxy.apikey.changed");
            self.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        self.link().await
    }

    /// Checks the aggregator, with unsaved values where given, and stores the result.
    pub async fn try_link(
        &self,
        caller: Caller<'_>,
        trial: Trial,
    ) -> Result<Result<Checked, AggregatorError>, IndexerAreaError> {
        let needed = &[Permission::IntegrationsIndexerProxyTest];
        let actor = judge_alone(&*self.acting, &self.db, caller.principal, needed).await?;
        let stored = self.link().await?.link;
        let url = checked("internalUrl", trial.internal_url)?.filter(|url| !url.is_empty());
        let url = url.unwrap_or_else(|| stored.internal_url.clone());
        let key = match trial.api_key {
            Some(key) => Some(key),
            // The stored key is never sent to another server.
            None if !is_same_origin(&url, &stored.internal_url) && stored.api_key.is_some() => {
                let wanted = complaint(&["apiKey".to_owned()]).unwrap_or_default();
                return Err(IndexerAreaError::LinkKeyWanted(wanted));
            }
            None => self.link_key(&stored).filter(|key| !key.is_empty()),
        };
        let key = key.ok_or_else(|| keyless(&stored, "test the connection"))?;
        self.admit_address(caller, &url, Some(&stored.internal_url))
            .await?;
        let certificate = trial.certificate.or(stored.certificate);
        let certificate = certificate.filter(|text| !text.is_empty());
        let (checked, answer) = self.probe(&url, &key, certificate.as_deref()).await;
        let _turn = self.link_changes.lock().await;
        let mut tx = self.db.begin_write().await?;
        let mut stored = self.settings.get(&mut tx, &INDEXER_PROXY).await?;
        checked.put(&mut stored);
        self.settings.put(&mut tx, &INDEXER_PROXY, &stored).await?;
        let mut entry = entry_of(&actor, caller, "indexer_proxy.test");
        match &answer {
            Ok(()) => entry.metadata = Some(json!({ "version": checked.version })),
            Err(error) => {
                entry.result = AuditResult::Failure;
                entry.metadata = Some(json!({ "message": error.to_string() }));
            }
        }
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(answer.map(|()| checked))
    }

    /// Present status of the aggregator; a disabled link or one without a key is not asked.
    pub async fn link_status(&self) -> Result<Probe, IndexerAreaError> {
        let link = self.link().await?.link;
        let idle = |status: &'static str, message: &str| Probe {
            status,
            message: Some(message.to_owned()),
            version: link.checked.version.clone(),
            indexer_count: link.checked.indexer_count,
            at: link.checked.at,
        };
        if !link.is_enabled {
            return Ok(idle("disabled", "The link to the indexer proxy is disabled"));
        }
        let Some(key) = self.link_key(&link) else {
            let wanted = complaint(&link.wanted);
            let message = wanted
                .as_deref()
                .unwrap_or("No API key of the indexer proxy is set");
            return Ok(idle("unconfigured", message));
        };
        let certificate = link.certificate.as_deref();
        let (checked, _) = self.probe(&link.internal_url, &key, certificate).await;
        let _turn = self.link_changes.lock().await;
        let mut tx = self.db.begin_write().await?;
        let mut stored = self.settings.get(&mut tx, &INDEXER_PROXY).await?;
        let now = Link::from_stored(&stored);
        // Not stored if the link was changed meanwhile.
        if (&now.internal_url, &now.api_key) == (&link.internal_url, &link.api_key) {
            checked.put(&mut stored);
            self.settings.put(&mut tx, &INDEXER_PROXY, &stored).await?;
            tx.commit().await?;
        }
        Ok(Probe {
            status: checked.status.as_str(),
            message: checked.message,
            version: checked.version,
            indexer_count: checked.indexer_count,
            at: checked.at,
        })
    }

    /// URL for users' browsers; the call is audited.
    pub async fn open_link(&self, caller: Caller<'_>) -> Result<String, IndexerAreaError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .judge(&mut tx, caller, Permission::IntegrationsIndexerProxyOpen)
            .await?;
        let stored = self.settings.get(&mut tx, &INDEXER_PROXY).await?;
        let entry = entry_of(&actor, caller, "indexer_proxy.opened");
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Link::from_stored(&stored).public_url)
    }

    pub(super) fn aggregator<'a>(
        &'a self,
        base: &'a str,
        key: &'a Secret,
        certificate: Option<&'a str>,
    ) -> Aggregator<'a> {
        Aggregator {
            certificate,
            dialer: self.net.dialer(),
            base,
            key,
            patience: (PATIENCE, LIST_PATIENCE),
        }
    }

    async fn probe(
        &self,
        url: &str,
        key: &Secret,
        certificate: Option<&str>,
    ) -> (Checked, Result<(), AggregatorError>) {
        let _turn = self.probes.acquire().await;
        let answer = self.aggregator(url, key, certificate).probe().await;
        let mut checked = Checked {
            at: Some(self.ctx.now()),
            url: Some(url.to_owned()),
            ..Checked::default()
        };
        match answer {
            Ok((about, count)) => {
                checked.status = Status::Ok;
                checked.version = about.version;
                checked.indexer_count = count;
                (checked, Ok(()))
            }
            Err(error) => {
                checked.status = Status::Error;
                checked.message = Some(error.to_string());
                (checked, Err(error))
            }
        }
    }
}

/// Error for a missing key.
pub(super) fn keyless(link: &Link, to: &'static str) -> IndexerAreaError {
    complaint(&link.wanted).map_or(IndexerAreaError::NoLinkKey(to), IndexerAreaError::LinkKeyWanted)
}

/// Checks a URL; blank stays blank and means the default.
fn checked(name: &'static str, url: Option<String>) -> Result<Option<String>, IndexerAreaError> {
    let Some(url) = url.map(|url| tidy_url(&url)) else {
        return Ok(None);
    };
    match url_fault(&url) {
        Some(fault) if !url.is_empty() => Err(IndexerAreaError::LinkUrl(name, fault)),
        _ => Ok(Some(url)),
    }
}

pub(super) fn entry_of<'a>(actor: &Actor, caller: Caller<'a>, action: &'static str) -> AuditEntry<'a> {
    AuditEntry {
        object_type: Some("setting"),
        object_id: Some(INDEXER_PROXY.key.to_owned()),
        ..actor.entry(action, caller.client)
    }
}

fn entry<'a>(
    actor: &Actor,
    caller: Caller<'a>,
    action: &'static str,
    metadata: Option<Value>,
) -> AuditEntry<'a> {
    AuditEntry {
        metadata,
        ..entry_of(actor, caller, action)
    }
}
