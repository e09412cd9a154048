//! Requests to media servers for users and other areas; results are stored.

use async_trait::async_trait;
use futures_util::future::join_all;
use qm_db::DbError;
use qm_kernel::{Caller, Timestamp};
use qm_platform::origins::{complaint, take_wanted};
use qm_platform::{AuditResult, judge_alone};
use qm_ports::media_server::{
    Extent, MediaServer, MediaServerConfig, MediaServerError, MediaServers, PlaySession, Refreshed,
    ServerAbout,
};
use serde_json::json;

use super::{Integrations, NEEDED};
use crate::error::MediaServersError;
use crate::model::{Integration, Outcome, Status, TIMEOUT_MS, handed_on};
use crate::repo;

impl Integrations {
    /// Tests a server, also a disabled one, and stores the result.
    pub async fn test(&self, caller: Caller<'_>, id: &str) -> Result<Outcome, MediaServersError> {
        // The test uses the stored secrets, so the permission is checked first.
        let actor = judge_alone(&*self.acting, &self.db, caller.principal, &[NEEDED]).await?;
        let integration = self.stored(id).await?;
        self.settled(&integration.kind)?;
        let answer = self.probe(&integration).await?;
        let answer = answer.map_err(|error| error.to_string());
        if let Err(message) = &answer {
            let mut tx = self.db.begin_write().await?;
            let mut entry = actor.entry("media.integration.test_failed", caller.client);
            entry.object_type = Some("media_server_integration");
            entry.object_id = Some(integration.id.clone());
            entry.result = AuditResult::Failure;
            entry.metadata = Some(json!({ "name": integration.name, "message": message }));
            self.audit.record(&mut tx, entry).await?;
            tx.commit().await?;
        }
        Ok(Outcome {
            name: integration.name,
            answer,
        })
    }

    /// Makes a server scan for files; returns the time of its acceptance.
    pub async fn refresh(&self, caller: Caller<'_>, id: &str) -> Result<Timestamp, MediaServersError> {
        let actor = judge_alone(&*self.acting, &self.db, caller.principal, &[NEEDED]).await?;
        let integration = self.stored(id).await?;
        if !integration.is_enabled {
            return Err(MediaServersError::Disabled);
        }
        self.settled(&integration.kind)?;
        let done = self.refresh_one(&integration, Extent::default()).await?;
        let mut tx = self.db.begin_write().await?;
        let action = match &done {
            Ok(_) => "media.integration.refresh",
            Err(_) => "media.integration.refresh_failed",
        };
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("media_server_integration");
        entry.object_id = Some(integration.id.clone());
        entry.metadata = Some(match &done {
            Ok(_) => json!({ "name": integration.name }),
            Err(error) => json!({ "name": integration.name, "message": error.to_string() }),
        });
        if done.is_err() {
            entry.result = AuditResult::Failure;
        }
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        done.map_err(|error| MediaServersError::Refresh(error.to_string()))
    }

    /// Requests the server's version and name, and stores the result.
    pub(super) async fn probe(
        &self,
        integration: &Integration,
    ) -> Result<Result<ServerAbout, MediaServerError>, DbError> {
        let answer = match self.config_of(integration) {
            Ok(config) => {
                let _one = self.asking.acquire().await;
                self.kinds.test(&integration.kind, config).await
            }
            Err(error) => Err(error),
        };
        let Some(status) = status_of(&answer) else {
            return Ok(answer);
        };
        let version = answer.as_ref().ok().and_then(|about| about.version.as_deref());
        let mut tx = self.db.begin_write().await?;
        repo::integrations::checked(&mut tx, integration, self.ctx.now(), status, version).await?;
        tx.commit().await?;
        Ok(answer)
    }

    async fn refresh_one(
        &self,
        integration: &Integration,
        extent: Extent,
    ) -> Result<Result<Timestamp, MediaServerError>, DbError> {
        let answer = match self.config_of(integration) {
            Ok(config) => {
                let _one = self.asking.acquire().await;
                self.kinds.refresh(&integration.kind, config, extent).await
            }
            Err(error) => Err(error),
        };
        let now = self.ctx.now();
        let Some(status) = status_of(&answer) else {
            return Ok(answer.map(|()| now));
        };
        let at = answer.is_ok().then_some(now);
        let mut tx = self.db.begin_write().await?;
        repo::integrations::refreshed(&mut tx, integration, status, at).await?;
        tx.commit().await?;
        Ok(answer.map(|()| now))
    }

    /// Decrypted configuration for the plugin.
    fn config_of(&self, integration: &Integration) -> Result<MediaServerConfig, MediaServerError> {
        let mut stored = self.opened(integration).ok_or_else(|| {
            MediaServerError::InvalidConfig("its secrets cannot be read any more: enter them anew".to_owned())
        })?;
        if let Some(complaint) = complaint(&take_wanted(&mut stored)) {
            return Err(MediaServerError::InvalidConfig(complaint));
        }
        Ok(MediaServerConfig {
            fields: handed_on(stored),
            timeout_ms: Some(TIMEOUT_MS),
        })
    }

    /// An enabled server with its configuration.
    async fn enabled(&self, id: &str) -> Result<(Integration, MediaServerConfig), MediaServerError> {
        let integration = self.stored(id).await.map_err(lost)?;
        if !integration.is_enabled {
            return Err(MediaServerError::Disabled);
        }
        let config = self.config_of(&integration)?;
        Ok((integration, config))
    }
}

/// Status of the server by an answer; `None` for a fault that is not the server's.
fn status_of<T>(answer: &Result<T, MediaServerError>) -> Option<Status> {
    match answer {
        Ok(_) => Some(Status::Online),
        Err(
            MediaServerError::Missing(_)
            | MediaServerError::Busy
            | MediaServerError::Unsupported(_)
            | MediaServerError::Plugin(_),
        ) => None,
        Err(_) => Some(Status::Offline),
    }
}

fn lost(error: MediaServersError) -> MediaServerError {
    match error {
        MediaServersError::NoSuchIntegration => MediaServerError::Missing(error.to_string()),
        other => MediaServerError::Storage(other.to_string()),
    }
}

#[async_trait]
impl MediaServers for Integrations {
    async fn servers(&self) -> Result<Vec<MediaServer>, MediaServerError> {
        let mut tx = self.db.begin_read().await.map_err(|error| lost(error.into()))?;
        let all = repo::integrations::all(&mut tx)
            .await
            .map_err(|error| lost(error.into()))?;
        let kinds = self.kinds.kinds();
        let told = |one: Integration| {
            let kind = kinds.iter().find(|kind| kind.id == one.kind);
            MediaServer {
                id: one.id,
                name: one.name,
                is_enabled: one.is_enabled,
                is_online: match one.status {
                    Status::Unknown => None,
                    status => Some(status == Status::Online),
                },
                version: one.server_version,
                abilities: kind.map(|kind| kind.abilities).unwrap_or_default(),
                kind: one.kind,
            }
        };
        Ok(all.into_iter().map(told).collect())
    }

    async fn refresh_all(&self, extent: &Extent) -> Result<Vec<Refreshed>, MediaServerError> {
        let mut tx = self.db.begin_read().await.map_err(|error| lost(error.into()))?;
        let all = repo::integrations::all(&mut tx)
            .await
            .map_err(|error| lost(error.into()))?;
        drop(tx);
        let enabled = all.into_iter().filter(|one| one.is_enabled);
        let refreshing = enabled.map(async |one| {
            let done = self.refresh_one(&one, extent.clone()).await;
            Refreshed {
                id: one.id,
                name: one.name,
                outcome: done.unwrap_or_else(|error| Err(lost(error.into()))).map(|_| ()),
            }
        });
        Ok(join_all(refreshing).await)
    }

    async fn refresh(&self, id: &str, extent: Extent) -> Result<(), MediaServerError> {
        let (integration, _) = self.enabled(id).await?;
        let done = self.refresh_one(&integration, extent).await;
        done.unwrap_or_else(|error| Err(lost(error.into()))).map(|_| ())
    }

    async fn sessions(&self, id: &str) -> Result<Vec<PlaySession>, MediaServerError> {
        let (integration, config) = self.enabled(id).await?;
        let _one = self.asking.acquire().await;
        self.kinds.sessions(&integration.kind, config).await
    }

    async fn terminate(
        &self,
        id: &str,
        session: &str,
        message: Option<&str>,
    ) -> Result<(), MediaServerError> {
        let (integration, config) = self.enabled(id).await?;
        let _one = self.asking.acquire().await;
        self.kinds
            .terminate(&integration.kind, config, session, message)
            .await
    }
}
