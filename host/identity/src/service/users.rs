//! Users: creation.

use qm_db::Tx;
use qm_kernel::Timestamp;

use crate::error::IdentityError;
use crate::model::NewUser;
use crate::repo;
use crate::service::Identity;

impl Identity {
    /// Creates a user and answers its id.
    pub async fn create_user(&self, user: NewUser) -> Result<String, IdentityError> {
        let hash = self.inner.passwords.hash(&user.password).await?;
        let mut tx = self.inner.db.begin_write().await?;
        let id = self
            .insert_user(&mut tx, &user, &hash, self.inner.ctx.now())
            .await?;
        tx.commit(&*self.inner.events).await?;
        Ok(id)
    }

    pub(super) async fn insert_user(
        &self,
        tx: &mut Tx,
        user: &NewUser,
        hash: &str,
        now: Timestamp,
    ) -> Result<String, IdentityError> {
        let id = self.inner.ctx.id();
        repo::users::insert(tx, &id, user, hash, now)
            .await
            .map_err(|error| {
                if error.is_unique_violation() {
                    IdentityError::Taken
                } else {
                    error.into()
                }
            })?;
        for &role in &user.roles {
            if !repo::roles::grant(tx, &id, role).await? {
                return Err(IdentityError::RoleMissing(role.name()));
            }
        }
        Ok(id)
    }
}
