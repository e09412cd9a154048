//! Second factor of the own account: setup, enabling with a first code, disabling, new recovery codes.

use qm_kernel::{Caller, Secret};
use qm_platform::Settings;
use qm_platform::settings::PRODUCT_NAME;
use serde_json::json;

use crate::error::IdentityError;
use crate::events::TwoFactorDisabled;
use crate::model::answers::Setup;
use crate::model::{qr, recovery, totp};
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::acting::lock_caller;
use crate::service::guesses::Door;
use crate::service::{Identity, Inner};

const ENABLED: &str = "account.2fa_enabled";
const DISABLED: &str = "account.2fa_disabled";
const RENEWED: &str = "account.2fa_recovery_regenerated";

impl Inner {
    /// The decrypted seed. One that cannot be decrypted (after a change of the key) counts as absent:
    /// recovery codes still admit the owner.
    fn seed_of(&self, user: &UserRow) -> Option<Secret> {
        user.totp_secret
            .as_deref()
            .and_then(|stored| self.cipher.decrypt(stored))
    }

    /// Time step whose code for this user is `code`.
    pub(super) fn matching_step(&self, user: &UserRow, code: &str) -> Option<i64> {
        self.seed_of(user)
            .and_then(|seed| totp::matching_step(&seed, code, self.ctx.now()))
    }
}

impl Identity {
    pub async fn two_factor_enabled(&self, caller: Caller<'_>) -> Result<bool, IdentityError> {
        Ok(self.own(caller).await?.totp_enabled)
    }

    /// Creates a seed for [`Identity::enable_two_factor`]; the second factor stays off. An earlier seed that
    /// was not enabled is replaced.
    #[tracing::instrument(name = "identity.setup_two_factor", skip_all)]
    pub async fn setup_two_factor(&self, caller: Caller<'_>) -> Result<Setup, IdentityError> {
        let user = self.own_to_change(caller).await?;
        if user.totp_enabled {
            return Err(IdentityError::TwoFactorAlreadyEnabled);
        }
        let seed = totp::new_seed(&self.inner.ctx);
        let sealed = self.inner.cipher.encrypt(seed.expose());
        let mut tx = self.inner.db.begin_write().await?;
        lock_caller(&mut tx, caller).await?;
        let issuer = Settings::new(self.inner.ctx.clone(), self.inner.cipher.clone())
            .get(&mut tx, &PRODUCT_NAME)
            .await?;
        let otpauth_url = totp::otpauth_url(&issuer, &user.username, &seed);
        let qr_data_url = qr::data_url(&otpauth_url).map_err(IdentityError::QrCode)?;
        if !repo::users::start_totp(&mut tx, &user.id, &sealed, self.inner.ctx.now()).await? {
            return Err(IdentityError::TwoFactorAlreadyEnabled);
        }
        tx.commit().await?;
        Ok(Setup {
            seed,
            otpauth_url: Secret::new(otpauth_url),
            qr_data_url: Secret::new(qr_data_url),
        })
    }

    /// Switches the second factor on with a code of the new seed. Returns the recovery codes.
    #[tracing::instrument(name = "identity.enable_two_factor", skip_all)]
    pub async fn enable_two_factor(
        &self,
        caller: Caller<'_>,
        code: &str,
    ) -> Result<Vec<Secret>, IdentityError> {
        let user = self.own_to_change(caller).await?;
        if user.totp_enabled {
            return Err(IdentityError::TwoFactorAlreadyEnabled);
        }
        let seed = self
            .inner
            .seed_of(&user)
            .ok_or(IdentityError::TwoFactorNotSetUp)?;
        self.inner.guesses.wait(Door::Account, &user.username).await?;
        let now = self.inner.ctx.now();
        let Some(step) = totp::matching_step(&seed, code, now) else {
            self.note_wrong(caller, &user, ENABLED).await?;
            return Err(IdentityError::InvalidVerificationCode);
        };
        let issued = recovery::issue(&self.inner.ctx);
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, _) = lock_caller(&mut tx, caller).await?;
        if !repo::users::enable_totp(&mut tx, &user, step, &json!(issued.hashes).to_string(), now).await? {
            // Set up anew, or enabled, since it was read: the code belongs to an outdated seed.
            return Err(IdentityError::InvalidVerificationCode);
        }
        let entry = actor.entry(ENABLED, caller.client);
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(issued.codes)
    }

    /// Switches the second factor off and deletes seed and recovery codes, also of a pending setup.
    #[tracing::instrument(name = "identity.disable_two_factor", skip_all)]
    pub async fn disable_two_factor(
        &self,
        caller: Caller<'_>,
        password: &Secret,
    ) -> Result<(), IdentityError> {
        let user = self.own_to_change(caller).await?;
        self.inner.guesses.wait(Door::Account, &user.username).await?;
        let (stored, by) = (Some(user.password_hash.as_str()), caller.client.ip);
        if !self.inner.passwords.verify(password, stored, by).await? {
            self.note_wrong(caller, &user, DISABLED).await?;
            return Err(IdentityError::IncorrectPassword);
        }
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, current) = lock_caller(&mut tx, caller).await?;
        if current.password_hash != user.password_hash {
            return Err(IdentityError::IncorrectPassword);
        }
        repo::users::disable_totp(&mut tx, &user.id, now).await?;
        if current.totp_enabled {
            let entry = actor.entry(DISABLED, caller.client);
            self.inner.audit.record(&mut tx, entry).await?;
            self.inner
                .publish(&mut tx, caller, &user.id, &TwoFactorDisabled {});
        }
        tx.commit().await?;
        Ok(())
    }

    /// Replaces all recovery codes, given a current code of the authenticator; a recovery code is not
    /// accepted.
    #[tracing::instrument(name = "identity.renew_recovery_codes", skip_all)]
    pub async fn renew_recovery_codes(
        &self,
        caller: Caller<'_>,
        code: &str,
    ) -> Result<Vec<Secret>, IdentityError> {
        let user = self.own_to_change(caller).await?;
        if !user.totp_enabled {
            return Err(IdentityError::TwoFactorNotEnabled);
        }
        self.inner.guesses.wait(Door::Account, &user.username).await?;
        let Some(step) = self.inner.matching_step(&user, code) else {
            self.note_wrong(caller, &user, RENEWED).await?;
            return Err(IdentityError::InvalidVerificationCode);
        };
        let issued = recovery::issue(&self.inner.ctx);
        let hashes = json!(issued.hashes).to_string();
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, _) = lock_caller(&mut tx, caller).await?;
        if !repo::users::renew_recovery_codes(&mut tx, &user, step, &hashes, self.inner.ctx.now()).await? {
            drop(tx);
            // Used before, or the second factor changed since it was read: the code is not valid now.
            self.note_wrong(caller, &user, RENEWED).await?;
            return Err(IdentityError::InvalidVerificationCode);
        }
        let entry = actor.entry(RENEWED, caller.client);
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(issued.codes)
    }
}
