//! Seeding at each start: the permissions, the five roles and the first administrator. A repetition changes
//! nothing that users did, except that the permissions of the roles are restored.

use std::collections::{BTreeSet, HashMap};

use qm_db::Tx;
use qm_kernel::{Permission, Role, Secret};

use crate::error::IdentityError;
use crate::model::{FirstAdmin, NewUser};
use crate::repo;
use crate::service::Identity;
use crate::service::operator::generate_password;

const DISPLAY_NAME: &str = "Administrator";

/// Result of seeding, for display by the caller.
#[derive(Debug, Default)]
pub struct Seeded {
    /// The administrator was created just now.
    pub admin_created: bool,
    /// Generated password, when none was configured. Shown once and stored nowhere.
    pub generated_password: Option<Secret>,
}

impl Identity {
    pub async fn seed(&self, admin: &FirstAdmin) -> Result<Seeded, IdentityError> {
        let mut tx = self.inner.db.begin_write().await?;
        let permissions = self.seed_permissions(&mut tx).await?;
        self.seed_roles(&mut tx, &permissions).await?;
        tx.commit().await?;
        self.seed_admin(admin).await
    }

    /// Inserts missing permissions; returns the id of every permission by key.
    async fn seed_permissions(&self, tx: &mut Tx) -> Result<HashMap<String, String>, IdentityError> {
        let mut ids = by_name(repo::roles::all_permissions(tx).await?);
        if Permission::ALL
            .iter()
            .any(|permission| !ids.contains_key(permission.key()))
        {
            for permission in Permission::ALL
                .iter()
                .filter(|permission| !ids.contains_key(permission.key()))
            {
                repo::roles::insert_permission(tx, self.inner.ctx.id(), permission.key()).await?;
            }
            ids = by_name(repo::roles::all_permissions(tx).await?);
        }
        Ok(ids)
    }

    /// Creates missing roles and sets the permissions of each. Correct ones are left alone, which saves a few
    /// hundred writes at a normal start.
    async fn seed_roles(
        &self,
        tx: &mut Tx,
        permissions: &HashMap<String, String>,
    ) -> Result<(), IdentityError> {
        let now = self.inner.ctx.now();
        let mut ids = by_name(repo::roles::all_roles(tx).await?);
        if Role::ALL.iter().any(|role| !ids.contains_key(role.name())) {
            for role in Role::ALL.iter().filter(|role| !ids.contains_key(role.name())) {
                repo::roles::insert_role(tx, self.inner.ctx.id(), role.name(), now).await?;
            }
            ids = by_name(repo::roles::all_roles(tx).await?);
        }
        for role in Role::ALL {
            let id = ids
                .get(role.name())
                .ok_or(IdentityError::RoleMissing(role.name()))?;
            let wanted: BTreeSet<&str> = role
                .permissions()
                .filter_map(|p| permissions.get(p.key()))
                .map(String::as_str)
                .collect();
            let present = repo::roles::links_of(tx, id).await?;
            if present.len() != wanted.len() || !present.iter().all(|link| wanted.contains(link.as_str())) {
                let wanted: Vec<&str> = wanted.into_iter().collect();
                repo::roles::relink(tx, id, &wanted).await?;
            }
        }
        Ok(())
    }

    /// Creates the administrator. An existing user of that name keeps everything; only the role is granted.
    async fn seed_admin(&self, admin: &FirstAdmin) -> Result<Seeded, IdentityError> {
        let mut tx = self.inner.db.begin_write().await?;
        if let Some(user) = repo::users::find_by_username(&mut tx, &admin.username).await? {
            if !repo::roles::grant(&mut tx, &user.id, Role::SuperAdmin).await? {
                return Err(IdentityError::RoleMissing(Role::SuperAdmin.name()));
            }
            tx.commit().await?;
            return Ok(Seeded::default());
        }
        drop(tx);
        let generated = admin
            .password
            .is_none()
            .then(|| generate_password(&self.inner.ctx));
        let password = admin
            .password
            .clone()
            .or_else(|| generated.clone())
            .unwrap_or_default();
        self.create_user(NewUser {
            username: admin.username.clone(),
            email: admin.email.clone(),
            display_name: Some(DISPLAY_NAME.to_owned()),
            password,
            roles: vec![Role::SuperAdmin],
            is_system: true,
        })
        .await?;
        Ok(Seeded {
            admin_created: true,
            generated_password: generated,
        })
    }
}

fn by_name(rows: Vec<repo::roles::Named>) -> HashMap<String, String> {
    rows.into_iter().map(|row| (row.name, row.id)).collect()
}
