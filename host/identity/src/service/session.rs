//! Sessions: a short access token and a refresh token for one use.
//!
//! All tokens from one login are a family. A second use of a token means that two parties hold it, so the
//! whole family ends. A token that was revoked otherwise (new password, logout, deactivation) is only
//! refused, because an honest client that was offline presents it too. Changes of a user's tokens lock the
//! user's row first.

use qm_db::Tx;
use qm_kernel::{AddressBlock, Caller, ClientInfo, Secret, Timestamp};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use crate::error::IdentityError;
use crate::events::PasswordChanged;
use crate::model::answers::Session;
use crate::model::refresh;
use crate::repo;
use crate::repo::tokens::{NewToken, TokenRow};
use crate::repo::users::UserRow;
use crate::service::acting::lock_caller;
use crate::service::guesses::Door;
use crate::service::token::Subject;
use crate::service::{Identity, account_of};

impl Identity {
    /// Exchanges a refresh token for the next one of its family. Of two concurrent exchanges of one token exactly one
    /// succeeds; the other is a reuse.
    #[tracing::instrument(name = "identity.refresh", skip_all)]
    pub async fn refresh(&self, wire: &Secret, client: &ClientInfo) -> Result<Session, IdentityError> {
        let presented = refresh::parse(wire.expose()).ok_or(IdentityError::MalformedRefreshToken)?;
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let owner = live_or_dead(&mut tx, &presented).await?.user_id;
        let user = repo::users::lock(&mut tx, &owner)
            .await?
            .ok_or(IdentityError::InvalidRefreshToken)?;
        // Read again under the lock: another exchange or a revocation may have been faster.
        let token = live_or_dead(&mut tx, &presented).await?;
        if token.rotated_at.is_some() {
            return self.end_family(tx, token, client, now).await;
        }
        if token.revoked_at.is_some() {
            return Err(IdentityError::RefreshTokenRevoked);
        }
        if token.expires_at <= now.ms() {
            return Err(IdentityError::RefreshTokenExpired);
        }
        if !user.is_active {
            repo::tokens::revoke_all(&mut tx, &user.id, now).await?;
            tx.commit().await?;
            return Err(IdentityError::AccountDisabled);
        }
        repo::tokens::rotate(&mut tx, &token.id, now).await?;
        let session = self.issue(&mut tx, user, &token.family, client, now).await?;
        tx.commit().await?;
        Ok(session)
    }

    async fn end_family(
        &self,
        mut tx: Tx,
        token: TokenRow,
        client: &ClientInfo,
        now: Timestamp,
    ) -> Result<Session, IdentityError> {
        let ended = repo::tokens::revoke_family(&mut tx, &token.family, now).await?;
        // The presenter may not be the user, so the audit row is about the user and not by them.
        let entry = AuditEntry {
            action: "auth.refresh_reuse",
            object_type: Some("user"),
            object_id: Some(token.user_id.clone()),
            result: AuditResult::Failure,
            client: Some(client),
            metadata: Some(json!({ "revoked": ended })),
            ..AuditEntry::default()
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        tracing::warn!(user.id = %token.user_id, ended, "a refresh token was presented twice, its family is revoked");
        Err(IdentityError::RefreshTokenReused)
    }

    /// Revokes every refresh token of the caller.
    #[tracing::instrument(name = "identity.logout", skip_all)]
    pub async fn logout(&self, caller: Caller<'_>) -> Result<(), IdentityError> {
        let mut tx = self.inner.db.begin_write().await?;
        if repo::users::lock(&mut tx, caller.user_id()).await?.is_some() {
            repo::tokens::revoke_all(&mut tx, caller.user_id(), self.inner.ctx.now()).await?;
            // A deactivated user may still sign out.
            let entry = AuditEntry {
                user_id: Some(caller.user_id().to_owned()),
                action: "auth.logout",
                client: Some(caller.client),
                ..AuditEntry::default()
            };
            self.inner.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Sets the caller's password and revokes every refresh token. Access tokens stay valid until they
    /// expire. `action` is the name in the audit row.
    #[tracing::instrument(name = "identity.change_password", skip_all)]
    pub async fn change_password(
        &self,
        caller: Caller<'_>,
        current: &Secret,
        new: &Secret,
        action: &'static str,
    ) -> Result<(), IdentityError> {
        let user = self.own_to_change(caller).await?;
        self.inner.guesses.wait(Door::Account, &user.username).await?;
        let (stored, by) = (Some(user.password_hash.as_str()), caller.client.ip);
        if !self.inner.passwords.verify(current, stored, by).await? {
            self.note_wrong(caller, &user, action).await?;
            return Err(IdentityError::WrongCurrentPassword);
        }
        let hash = self.inner.passwords.hash(new, Some(by)).await?;
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, _) = lock_caller(&mut tx, caller).await?;
        if !repo::users::set_password(&mut tx, &user, &hash, now).await? {
            // Another request changed it first, so the checked password is outdated.
            return Err(IdentityError::WrongCurrentPassword);
        }
        repo::tokens::revoke_all(&mut tx, &user.id, now).await?;
        repo::addresses::forget(&mut tx, &user.id, Some(AddressBlock::containing(by))).await?;
        self.end_sessions(&mut tx, &user.id, now).await?;
        let entry = actor.entry(action, caller.client);
        self.inner.audit.record(&mut tx, entry).await?;
        self.inner.publish(&mut tx, caller, &user.id, &PasswordChanged {});
        tx.commit().await?;
        Ok(())
    }

    /// A new pair of tokens in `family`, with the present roles and permissions. The caller has locked the
    /// user's row.
    pub(super) async fn issue(
        &self,
        tx: &mut Tx,
        user: UserRow,
        family: &str,
        client: &ClientInfo,
        now: Timestamp,
    ) -> Result<Session, IdentityError> {
        let account = account_of(tx, user).await?;
        let issued = refresh::issue(&self.inner.ctx, family);
        let token = NewToken {
            id: self.inner.ctx.id(),
            user_id: &account.id,
            hash: &issued.hash,
            family,
            user_agent: client.user_agent.as_deref(),
            ip_address: client.ip.to_string(),
            expires_at: now.plus(self.inner.refresh_ttl),
        };
        repo::tokens::insert(tx, token, now).await?;
        let subject = Subject {
            user_id: &account.id,
            username: &account.username,
            roles: &account.roles,
            permissions: account.permissions,
        };
        let access_token = self.inner.tokens.issue(&subject).map_err(IdentityError::Token)?;
        Ok(Session {
            access_token,
            refresh_token: issued.wire,
            account,
        })
    }
}

/// The row of the presented token, in any state.
async fn live_or_dead(tx: &mut Tx, presented: &refresh::Presented<'_>) -> Result<TokenRow, IdentityError> {
    repo::tokens::find(tx, &presented.hash)
        .await?
        .filter(|token| token.family == presented.family)
        .ok_or(IdentityError::InvalidRefreshToken)
}
