//! Commands of the operator on accounts, beside a running server or without one: no token, no events, no
//! secrets of the service. A user of the command line has access to the database anyway.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use qm_db::Db;
use qm_kernel::{Ctx, PageQuery, Secret};
use qm_platform::{Audit, AuditEntry};
use serde_json::json;

use crate::error::IdentityError;
use crate::model::Listed;
use crate::repo;
use crate::service::password::{HashCost, Passwords};
use crate::service::users::listed_page;

/// 144 random bits: 24 characters.
const GENERATED_PASSWORD_BYTES: usize = 18;
/// Users read at a time.
const PAGE: u64 = 500;

/// Access of the operator to the accounts.
pub struct Operator {
    db: Db,
    audit: Audit,
    passwords: Passwords,
    ctx: Ctx,
}

/// Result of a password reset.
#[derive(Debug)]
pub struct Reset {
    /// Generated password, when none was given. Shown once and stored nowhere.
    pub generated: Option<Secret>,
    /// Number of revoked refresh tokens.
    pub revoked: u64,
    /// True when the second factor was on and is now off.
    pub two_factor_disabled: bool,
    /// True when the second factor is still required.
    pub two_factor: bool,
    /// False: sign-in is impossible, whatever the password.
    pub is_active: bool,
}

impl Operator {
    /// `db` is open and migrated.
    pub fn new(db: Db, hash_cost: HashCost, ctx: Ctx) -> Self {
        Self {
            db,
            audit: Audit::new(ctx.clone()),
            passwords: Passwords::new(hash_cost, ctx.clone()),
            ctx,
        }
    }

    /// Every user, oldest first.
    pub async fn users(&self) -> Result<Vec<Listed>, IdentityError> {
        let mut tx = self.db.begin_read().await?;
        let mut users = Vec::new();
        for page in 1.. {
            let query = PageQuery {
                page,
                page_size: PAGE,
            };
            let mut list = listed_page(&mut tx, query).await?;
            let complete = (list.users.len() as u64) < PAGE;
            users.append(&mut list.users);
            if complete {
                break;
            }
        }
        Ok(users)
    }

    /// Sets the password of a user (generated if none is given), and revokes every refresh token.
    pub async fn reset_password(
        &self,
        username: &str,
        given: Option<Secret>,
        disable_two_factor: bool,
    ) -> Result<Reset, IdentityError> {
        let generated = given.is_none().then(|| generate_password(&self.ctx));
        let password = given.or_else(|| generated.clone()).unwrap_or_default();
        let hash = self.passwords.hash(&password, None).await?;
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let found = repo::users::find_by_username(&mut tx, username).await?;
        let Some(found) = found else {
            return Err(IdentityError::UserNotFound);
        };
        let user = repo::users::lock(&mut tx, &found.id)
            .await?
            .ok_or(IdentityError::UserNotFound)?;
        if !repo::users::set_password(&mut tx, &user, &hash, now).await? {
            return Err(IdentityError::UserNotFound);
        }
        let revoked = repo::tokens::revoke_all(&mut tx, &user.id, now).await?;
        repo::addresses::forget(&mut tx, &user.id, None).await?;
        repo::session_ends::note(&mut tx, self.ctx.id(), &user.id, now).await?;
        let two_factor_disabled = disable_two_factor && user.totp_enabled;
        if disable_two_factor {
            repo::users::disable_totp(&mut tx, &user.id, now).await?;
        }
        let entry = AuditEntry {
            action: "users.reset_password",
            object_type: Some("user"),
            object_id: Some(user.id.clone()),
            metadata: Some(json!({
                "username": user.username,
                "twoFactorDisabled": two_factor_disabled,
                "revoked": revoked,
            })),
            ..AuditEntry::default()
        };
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Reset {
            generated,
            revoked,
            two_factor_disabled,
            two_factor: user.totp_enabled && !two_factor_disabled,
            is_active: user.is_active,
        })
    }
}

/// A random password.
pub(super) fn generate_password(ctx: &Ctx) -> Secret {
    Secret::new(BASE64_URL_SAFE_NO_PAD.encode(ctx.bytes::<GENERATED_PASSWORD_BYTES>()))
}
