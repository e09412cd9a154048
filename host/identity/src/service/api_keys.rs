//! API keys of the caller. Clients may show them; no route accepts one as a credential.

use qm_kernel::{Caller, Permission, Timestamp};
use serde_json::json;

use crate::error::IdentityError;
use crate::events::ApiKeyCreated;
use crate::model::answers::{ApiKey, NewApiKey};
use crate::model::api_key;
use crate::repo;
use crate::repo::api_keys::NewKey;
use crate::service::Identity;
use crate::service::acting::judge_caller;

/// Tries for an unused prefix: with 48 random bits a second one is hardly ever needed.
const ATTEMPTS: usize = 4;

impl Identity {
    /// The caller's keys, newest first, including revoked ones.
    pub async fn api_keys(&self, caller: Caller<'_>) -> Result<Vec<ApiKey>, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        let rows = repo::api_keys::of_user(&mut tx, caller.user_id()).await?;
        Ok(rows
            .into_iter()
            .map(|row| ApiKey {
                id: row.id,
                name: row.name,
                prefix: row.prefix,
                scopes: row.scopes.0,
                last_used_at: row.last_used_at.map(Timestamp::from_ms),
                revoked_at: row.revoked_at.map(Timestamp::from_ms),
                created_at: Timestamp::from_ms(row.created_at),
            })
            .collect())
    }

    #[tracing::instrument(name = "identity.create_api_key", skip_all)]
    pub async fn create_api_key(
        &self,
        caller: Caller<'_>,
        name: String,
        scopes: Vec<String>,
    ) -> Result<NewApiKey, IdentityError> {
        let secret = api_key::new_secret(&self.inner.ctx);
        let hash = self.inner.passwords.hash(&secret, Some(caller.client.ip)).await?;
        let id = self.inner.ctx.id();
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let actor = judge_caller(&mut tx, caller, Permission::ApikeysManage).await?;
        let mut issued = None;
        for _ in 0..ATTEMPTS {
            let prefix = api_key::new_prefix(&self.inner.ctx);
            let key = NewKey {
                id: &id,
                user_id: caller.user_id(),
                name: &name,
                prefix: &prefix,
                hash: &hash,
                scopes: &scopes,
            };
            if repo::api_keys::insert(&mut tx, key, now).await? {
                issued = Some(prefix);
                break;
            }
        }
        let prefix = issued.ok_or(IdentityError::NoFreePrefix)?;
        let mut entry = actor.entry("apikeys.create", caller.client);
        entry.object_type = Some("api_key");
        entry.object_id = Some(id);
        entry.metadata = Some(json!({ "name": name, "prefix": prefix, "scopes": scopes }));
        self.inner.audit.record(&mut tx, entry).await?;
        let created = ApiKeyCreated {
            key_name: name.clone(),
        };
        self.inner.publish(&mut tx, caller, caller.user_id(), &created);
        tx.commit().await?;
        Ok(NewApiKey {
            key: api_key::whole(&prefix, &secret),
            prefix,
            name,
        })
    }

    /// Revokes a key of the caller. An unknown id or that of another user changes nothing and is no error, so
    /// that nobody learns of other users' keys.
    #[tracing::instrument(name = "identity.revoke_api_key", skip_all)]
    pub async fn revoke_api_key(&self, caller: Caller<'_>, id: &str) -> Result<(), IdentityError> {
        let mut tx = self.inner.db.begin_write().await?;
        let actor = judge_caller(&mut tx, caller, Permission::ApikeysManage).await?;
        let now = self.inner.ctx.now();
        if let Some((name, prefix)) = repo::api_keys::revoke(&mut tx, caller.user_id(), id, now).await? {
            let mut entry = actor.entry("apikeys.revoke", caller.client);
            entry.object_type = Some("api_key");
            entry.object_id = Some(id.to_owned());
            entry.metadata = Some(json!({ "name": name, "prefix": prefix }));
            self.inner.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}
