//! Login: password, then the second factor if enabled, then a new session.

use qm_db::Tx;
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{AddressBlock, ClientInfo, Secret, Timestamp};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use crate::error::IdentityError;
use crate::events::LoginFailed;
use crate::model::answers::Session;
use crate::model::recovery;
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::Identity;
use crate::service::guesses::Door;

/// The owner is notified each time after this many consecutive failures. There is no lock-out, which would
/// let a stranger lock the owner out; the route limits guesses per address, and [`super::guesses`] per
/// account.
const ALARMING_FAILURES: i64 = 5;

const LOGIN_ACTION: &str = "auth.login";

/// Credentials of a login request.
pub struct Credentials {
    pub username: String,
    pub password: Secret,
    /// A TOTP code or a recovery code; empty counts as absent.
    pub second_factor: Option<String>,
}

/// Verified second factor; one-time codes are spent only when the session opens.
#[derive(Clone, Copy)]
enum SecondFactor<'a> {
    NotNeeded,
    /// Time step of the code.
    Totp(i64),
    Recovery(&'a str),
}

impl Identity {
    #[tracing::instrument(name = "identity.login", skip_all)]
    pub async fn login(
        &self,
        credentials: Credentials,
        client: &ClientInfo,
    ) -> Result<Session, IdentityError> {
        let (user, known) = {
            let mut tx = self.inner.db.begin_read().await?;
            let user = repo::users::find_by_username(&mut tx, &credentials.username).await?;
            let id = user.as_ref().map(|user| user.id.as_str());
            let block = AddressBlock::containing(client.ip);
            let known = repo::addresses::is_known(&mut tx, id, block).await?;
            (user, known)
        };
        if !known {
            self.inner
                .guesses
                .wait(Door::Login, &credentials.username)
                .await?;
        }
        let stored = user.as_ref().map(|user| user.password_hash.as_str());
        let matches = self
            .inner
            .passwords
            .verify(&credentials.password, stored, client.ip)
            .await?;
        let opened = match user.filter(|user| matches && user.is_active) {
            Some(user) => match self.check_second_factor(&user, credentials.second_factor.as_deref()) {
                Ok(factor) => self.open_session(user, factor, client).await,
                Err(error) => Err(error),
            },
            None => Err(IdentityError::InvalidCredentials),
        };
        if let Err(IdentityError::InvalidCredentials | IdentityError::InvalidTwoFactorCode) = &opened {
            if !known {
                self.inner.guesses.failed(Door::Login, &credentials.username);
            }
            self.note_failure(&credentials.username, client).await?;
        }
        opened
    }

    fn check_second_factor<'a>(
        &self,
        user: &UserRow,
        given: Option<&'a str>,
    ) -> Result<SecondFactor<'a>, IdentityError> {
        if !user.totp_enabled {
            return Ok(SecondFactor::NotNeeded);
        }
        let Some(code) = given.map(str::trim).filter(|code| !code.is_empty()) else {
            return Err(IdentityError::TwoFactorRequired);
        };
        if let Some(step) = self.inner.matching_step(user, code) {
            return Ok(SecondFactor::Totp(step));
        }
        recovery::consume(&stored_codes(user)?, code)
            .map(|_| SecondFactor::Recovery(code))
            .ok_or(IdentityError::InvalidTwoFactorCode)
    }

    /// Writes all changes of a complete login in one transaction. Everything checked before is checked again:
    /// the account is active, the password unchanged, the code or recovery code unused.
    async fn open_session(
        &self,
        user: UserRow,
        factor: SecondFactor<'_>,
        client: &ClientInfo,
    ) -> Result<Session, IdentityError> {
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        if !repo::users::mark_login(&mut tx, &user, now).await? {
            return Err(IdentityError::InvalidCredentials);
        }
        let metadata = match factor {
            SecondFactor::NotNeeded => None,
            SecondFactor::Totp(step) => {
                if !repo::users::spend_step(&mut tx, &user, step).await? {
                    return Err(IdentityError::InvalidTwoFactorCode);
                }
                None
            }
            SecondFactor::Recovery(code) => {
                spend_recovery_code(&mut tx, &user.id, code, now).await?;
                Some(json!({ "recoveryCode": true }))
            }
        };
        repo::addresses::remember(&mut tx, &user.id, AddressBlock::containing(client.ip), now).await?;
        let family = self.inner.ctx.id();
        let session = self.issue(&mut tx, user, &family, client, now).await?;
        let entry = AuditEntry {
            user_id: Some(session.account.id.clone()),
            action: LOGIN_ACTION,
            client: Some(client),
            metadata,
            ..AuditEntry::default()
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(session)
    }

    /// Counts the failure for the account of this name, if it exists, and writes the audit row.
    async fn note_failure(&self, username: &str, client: &ClientInfo) -> Result<(), IdentityError> {
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        if let Some(user) = repo::users::find_by_username(&mut tx, username).await?
            && let Some(attempts) = repo::users::count_failure(&mut tx, &user.id, now).await?
            && attempts % ALARMING_FAILURES == 0
        {
            let failed = LoginFailed {
                username: user.username,
                display_name: user.display_name,
                attempts,
            };
            let cause = Cause::request(client);
            tx.publish(DomainEvent::new(&self.inner.ctx, cause, &user.id, &failed).concerning(user.id));
        }
        let entry = AuditEntry {
            action: LOGIN_ACTION,
            result: AuditResult::Failure,
            client: Some(client),
            metadata: Some(json!({ "username": username })),
            ..AuditEntry::default()
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// Hashes of the unused recovery codes.
fn stored_codes(user: &UserRow) -> Result<Vec<String>, IdentityError> {
    serde_json::from_str(&user.recovery_codes).map_err(|source| IdentityError::RecoveryCodes {
        user_id: user.id.clone(),
        source,
    })
}

/// Spends the recovery code, based on the present list: another login may have used a code meanwhile.
async fn spend_recovery_code(
    tx: &mut Tx,
    user_id: &str,
    code: &str,
    now: Timestamp,
) -> Result<(), IdentityError> {
    let user = repo::users::lock(tx, user_id)
        .await?
        .ok_or(IdentityError::InvalidCredentials)?;
    let left = recovery::consume(&stored_codes(&user)?, code).ok_or(IdentityError::InvalidTwoFactorCode)?;
    let left = serde_json::to_string(&left).map_err(|source| IdentityError::RecoveryCodes {
        user_id: user.id.clone(),
        source,
    })?;
    if repo::users::set_recovery_codes(tx, &user, &left, now).await? {
        Ok(())
    } else {
        Err(IdentityError::InvalidTwoFactorCode)
    }
}
