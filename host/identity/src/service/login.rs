//! Login: password, then the second factor when the account has one, then a new session.

use qm_db::Tx;
use qm_kernel::event::DomainEvent;
use qm_kernel::{ClientInfo, Secret, Timestamp};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use crate::error::IdentityError;
use crate::events::LOGIN_FAILED;
use crate::model::{recovery, totp};
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::Identity;
use crate::service::session::Session;

/// Every this many failures in a row the owner hears of it. There is no lockout: it would let a stranger lock the
/// owner out; the throttle of the route bounds guessing.
const ALARMING_FAILURES: i64 = 5;

const LOGIN_ACTION: &str = "auth.login";

/// What a client presents.
pub struct Credentials {
    pub username: String,
    pub password: Secret,
    /// A TOTP code or a recovery code; empty counts as absent.
    pub second_factor: Option<String>,
}

/// How the second factor was met.
enum SecondFactor {
    NotNeeded,
    Totp,
    /// The recovery codes that are left, as stored.
    Recovery(String),
}

impl Identity {
    #[tracing::instrument(name = "identity.login", skip_all)]
    pub async fn login(
        &self,
        credentials: Credentials,
        client: &ClientInfo,
    ) -> Result<Session, IdentityError> {
        let user = {
            let mut tx = self.inner.db.begin_read().await?;
            repo::users::find_by_username(&mut tx, &credentials.username).await?
        };
        let stored = user.as_ref().map(|user| user.password_hash.as_str());
        let matches = self.inner.passwords.verify(&credentials.password, stored).await?;
        let Some(user) = user.filter(|user| matches && user.is_active) else {
            self.note_failure(&credentials.username, client).await?;
            return Err(IdentityError::InvalidCredentials);
        };
        match self.check_second_factor(&user, credentials.second_factor.as_deref()) {
            Ok(factor) => self.open_session(user, factor, client).await,
            Err(error @ IdentityError::InvalidTwoFactorCode) => {
                self.note_failure(&user.username, client).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    fn check_second_factor(
        &self,
        user: &UserRow,
        given: Option<&str>,
    ) -> Result<SecondFactor, IdentityError> {
        if !user.totp_enabled {
            return Ok(SecondFactor::NotNeeded);
        }
        let Some(code) = given.map(str::trim).filter(|code| !code.is_empty()) else {
            return Err(IdentityError::TwoFactorRequired);
        };
        // A seed that cannot be decrypted (the key was changed) matches nothing: recovery codes still let the owner in.
        let seed = user
            .totp_secret
            .as_deref()
            .and_then(|stored| self.inner.cipher.decrypt(stored));
        if seed.is_some_and(|seed| totp::verify(&seed, code, self.inner.ctx.now())) {
            return Ok(SecondFactor::Totp);
        }
        let unreadable = |source| IdentityError::RecoveryCodes {
            user_id: user.id.clone(),
            source,
        };
        let stored: Vec<String> = serde_json::from_str(&user.recovery_codes).map_err(unreadable)?;
        let left = recovery::consume(&stored, code).ok_or(IdentityError::InvalidTwoFactorCode)?;
        Ok(SecondFactor::Recovery(
            serde_json::to_string(&left).map_err(unreadable)?,
        ))
    }

    /// Everything a full login changes, in one transaction. What was checked outside it is checked again by the
    /// conditions of the updates: the account is active, the password and the recovery codes are the same.
    async fn open_session(
        &self,
        user: UserRow,
        factor: SecondFactor,
        client: &ClientInfo,
    ) -> Result<Session, IdentityError> {
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        if !repo::users::mark_login(&mut tx, &user, now).await? {
            return Err(IdentityError::InvalidCredentials);
        }
        if let SecondFactor::Recovery(left) = &factor
            && !repo::users::set_recovery_codes(&mut tx, &user, left, now).await?
        {
            return Err(IdentityError::InvalidTwoFactorCode);
        }
        let family = self.inner.ctx.id();
        let session = self.issue(&mut tx, user, &family, client, now).await?;
        let entry = AuditEntry {
            user_id: Some(session.account.id.clone()),
            action: LOGIN_ACTION,
            client: Some(client),
            metadata: matches!(factor, SecondFactor::Recovery(_)).then(|| json!({ "recoveryCode": true })),
            ..AuditEntry::default()
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit(&*self.inner.events).await?;
        Ok(session)
    }

    /// Counts the failure against the account that has the name, if one does, and writes the audit row.
    async fn note_failure(&self, username: &str, client: &ClientInfo) -> Result<(), IdentityError> {
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        if let Some(user) = repo::users::find_by_username(&mut tx, username).await?
            && let Some(attempts) = repo::users::count_failure(&mut tx, &user.id, now).await?
            && attempts % ALARMING_FAILURES == 0
        {
            self.publish_failed(&mut tx, user, attempts, now);
        }
        let entry = AuditEntry {
            action: LOGIN_ACTION,
            result: AuditResult::Failure,
            client: Some(client),
            metadata: Some(json!({ "username": username })),
            ..AuditEntry::default()
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit(&*self.inner.events).await?;
        Ok(())
    }

    fn publish_failed(&self, tx: &mut Tx, user: UserRow, attempts: i64, now: Timestamp) {
        let payload = json!({
            "username": user.username,
            "displayName": user.display_name,
            "attempts": attempts,
        });
        tx.publish(DomainEvent {
            id: self.inner.ctx.id(),
            event_key: LOGIN_FAILED,
            occurred_at: now,
            actor_user_id: None,
            subject_user_id: Some(user.id.clone()),
            resource_type: Some("user"),
            resource_id: Some(user.id),
            payload,
            correlation_id: None,
            causation_id: None,
        });
    }
}
