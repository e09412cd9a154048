//! Permissions of users without their token, for other areas.

use async_trait::async_trait;
use qm_kernel::{Permission, Role};
use qm_ports::Holders;

use crate::error::IdentityError;
use crate::repo;
use crate::service::{Identity, account_of};

#[async_trait]
impl Holders for Identity {
    async fn holds(&self, user_id: &str, permission: Permission) -> Result<bool, String> {
        let asked = async {
            let mut tx = self.inner.db.begin_read().await?;
            let Some(user) = repo::users::find(&mut tx, user_id).await? else {
                return Ok(false);
            };
            let account = account_of(&mut tx, user).await?;
            let may = account.roles.contains(&Role::SuperAdmin) || account.permissions.contains(permission);
            Ok::<_, IdentityError>(account.is_active && may)
        };
        asked.await.map_err(|error| error.to_string())
    }
}
