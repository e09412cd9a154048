//! Reading and changing the caller's own account.

use qm_db::Tx;
use qm_kernel::{Caller, Timestamp, timezone};
use qm_platform::{ActingError, AuditEntry, AuditResult};
use serde_json::json;

use crate::error::IdentityError;
use crate::model::{Change, Profile, ProfileChange};
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::Identity;
use crate::service::acting::lock_caller;
use crate::service::guesses::Door;

impl Identity {
    /// The caller's own profile, read fresh.
    pub async fn profile(&self, caller: Caller<'_>) -> Result<Profile, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        let user = repo::users::find(&mut tx, caller.user_id())
            .await?
            .ok_or(IdentityError::NoSuchUser)?;
        profile_of(&mut tx, user).await
    }

    /// Applies the changes to the caller's profile.
    #[tracing::instrument(name = "identity.update_profile", skip_all)]
    pub async fn update_profile(
        &self,
        caller: Caller<'_>,
        change: ProfileChange,
    ) -> Result<Profile, IdentityError> {
        let zone = match change.timezone {
            Change::Set(text) => match timezone::choose(&text) {
                Ok(Some(zone)) => Change::Set(zone),
                Ok(None) => Change::Clear,
                Err(timezone::UnknownZone) => return Err(IdentityError::UnknownTimezone(text)),
            },
            other => other,
        };
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, mut user) = lock_caller(&mut tx, caller).await?;
        let mut fields = Vec::new();
        if let Some(email) = change.email.filter(|email| *email != user.email) {
            fields.push("email");
            user.email = email;
        }
        let display_name = change.display_name.applied_to(user.display_name.clone());
        if display_name != user.display_name {
            fields.push("displayName");
            user.display_name = display_name;
        }
        let zone = zone.applied_to(user.timezone.clone());
        if zone != user.timezone {
            fields.push("timezone");
            user.timezone = zone;
        }
        if !fields.is_empty() {
            repo::users::set_profile(&mut tx, &user, now)
                .await
                .map_err(IdentityError::taken)?;
            let mut entry = actor.entry("account.profile_updated", caller.client);
            entry.metadata = Some(json!({ "fields": fields }));
            self.inner.audit.record(&mut tx, entry).await?;
        }
        let profile = profile_of(&mut tx, user).await?;
        tx.commit().await?;
        Ok(profile)
    }

    /// The caller's row for a change: fails early for a deleted or deactivated account, before a password is
    /// hashed.
    pub(super) async fn own_to_change(&self, caller: Caller<'_>) -> Result<UserRow, IdentityError> {
        match self.own(caller).await {
            Ok(user) if user.is_active => Ok(user),
            Ok(_) => Err(ActingError::Inactive.into()),
            Err(IdentityError::NoSuchUser) => Err(ActingError::Gone.into()),
            Err(other) => Err(other),
        }
    }

    /// Audits a wrong password or code for the caller's own account as a failure of the intended action, and
    /// counts it.
    pub(super) async fn note_wrong(
        &self,
        caller: Caller<'_>,
        user: &UserRow,
        action: &'static str,
    ) -> Result<(), IdentityError> {
        self.inner.guesses.failed(Door::Account, &user.username);
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, _) = lock_caller(&mut tx, caller).await?;
        let entry = AuditEntry {
            result: AuditResult::Failure,
            ..actor.entry(action, caller.client)
        };
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The caller's row, outside any transaction: decisions based on it are checked again at the write.
    pub(super) async fn own(&self, caller: Caller<'_>) -> Result<UserRow, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        repo::users::find(&mut tx, caller.user_id())
            .await?
            .ok_or(IdentityError::NoSuchUser)
    }
}

async fn profile_of(tx: &mut Tx, user: UserRow) -> Result<Profile, IdentityError> {
    let roles = repo::roles::roles_of(tx, &user.id).await?;
    Ok(Profile {
        id: user.id,
        username: user.username,
        email: user.email,
        display_name: user.display_name,
        roles,
        timezone: user.timezone,
        two_factor: user.totp_enabled,
        last_login_at: user.last_login_at.map(Timestamp::from_ms),
        created_at: Timestamp::from_ms(user.created_at),
    })
}
