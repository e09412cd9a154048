//! Management of users and their roles by administrators.
//!
//! Invariant: there is always an active SUPER_ADMIN. A change that may remove one locks that role's row
//! first, then the caller's, then the user's, and only then counts the remaining ones.

use std::collections::HashMap;

use qm_db::Tx;
use qm_kernel::{Caller, PageQuery, Permission, Role, Timestamp};
use qm_platform::{Actor, AuditEntry};
use serde_json::{Map, Value, json};

use crate::error::IdentityError;
use crate::events::{RoleChanged, UserCreated};
use crate::model::answers::{FullRole, Link, UserList, UserRequest};
use crate::model::{Listed, NewUser, UserChange};
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::Identity;
use crate::service::acting::judge_caller;

impl Identity {
    /// A page of users, oldest first.
    pub async fn users(&self, page: PageQuery) -> Result<UserList, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        listed_page(&mut tx, page).await
    }

    /// Every role by name, each with its permissions.
    pub async fn roles(&self) -> Result<Vec<(FullRole, Vec<Link>)>, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        let roles = repo::roles::full_roles(&mut tx).await?;
        let mut links: HashMap<String, Vec<Link>> = HashMap::new();
        for link in repo::roles::full_links(&mut tx).await? {
            links.entry(link.role_id.clone()).or_default().push(link);
        }
        Ok(roles
            .into_iter()
            .map(|role| {
                let links = links.remove(&role.id).unwrap_or_default();
                (role, links)
            })
            .collect())
    }

    /// Creates a user on behalf of the caller.
    #[tracing::instrument(name = "identity.add_user", skip_all)]
    pub async fn add_user(&self, caller: Caller<'_>, request: UserRequest) -> Result<Listed, IdentityError> {
        // By the token first, which saves a hash; by the stored roles before anything is written.
        guard_grant(caller.principal.is_super_admin(), &request.role_names)?;
        let roles = parse_roles(&request.role_names)?;
        let user = NewUser {
            username: request.username,
            email: request.email,
            display_name: request.display_name,
            password: request.password,
            roles,
            is_system: false,
        };
        let by = Some(caller.client.ip);
        let hash = self.inner.passwords.hash(&user.password, by).await?;
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let actor = judge_caller(&mut tx, caller, Permission::UsersManage).await?;
        guard_grant(actor.is_super_admin(), &request.role_names)?;
        let id = self.insert_user(&mut tx, &user, &hash, now).await?;
        let metadata = json!({ "username": user.username, "roles": user.roles });
        let entry = about(&actor, caller, "users.create", &id, metadata);
        self.inner.audit.record(&mut tx, entry).await?;
        let created = UserCreated {
            username: user.username.clone(),
            display_name: user.display_name.clone(),
        };
        self.inner.publish(&mut tx, caller, &id, &created);
        tx.commit().await?;
        Ok(Listed {
            id,
            username: user.username,
            email: user.email,
            display_name: user.display_name,
            is_active: true,
            is_system: false,
            two_factor: false,
            last_login_at: None,
            created_at: now,
            roles: sorted(user.roles),
        })
    }

    /// Applies the changes. Deactivation revokes every refresh token.
    #[tracing::instrument(name = "identity.update_user", skip_all)]
    pub async fn update_user(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: UserChange,
    ) -> Result<Listed, IdentityError> {
        let now = self.inner.ctx.now();
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, mut user, held) = hold(&mut tx, caller, id).await?;
        let roles = wanted_roles(&actor, &user, &held, change.role_names.as_deref())?;
        let sets_roles = change.role_names.is_some();
        let stays = change.is_active.unwrap_or(user.is_active) && roles.contains(&Role::SuperAdmin);
        if !stays {
            guard_last_super_admin(&mut tx, &user, &held).await?;
        }
        let mut changed = apply(&mut user, change);
        if !changed.is_empty() {
            repo::users::set_profile(&mut tx, &user, now)
                .await
                .map_err(IdentityError::taken)?;
        }
        if roles != held {
            repo::roles::set_roles(&mut tx, &user.id, &roles).await?;
            changed.insert("roles".to_owned(), json!(roles));
        }
        if !user.is_active {
            repo::tokens::revoke_all(&mut tx, &user.id, now).await?;
        }
        if changed.contains_key("isActive") {
            self.end_sessions(&mut tx, &user.id, now).await?;
        }
        if !changed.is_empty() {
            let metadata = json!({ "username": user.username, "changed": changed });
            let entry = about(&actor, caller, "users.update", &user.id, metadata);
            self.inner.audit.record(&mut tx, entry).await?;
        }
        if sets_roles {
            let changed = RoleChanged {
                username: user.username.clone(),
                display_name: user.display_name.clone(),
                roles: roles.clone(),
            };
            self.inner.publish(&mut tx, caller, &user.id, &changed);
        }
        tx.commit().await?;
        Ok(listed(user, roles))
    }

    /// Deletes the user with roles, tokens and API keys; audit rows stay.
    #[tracing::instrument(name = "identity.delete_user", skip_all)]
    pub async fn delete_user(&self, caller: Caller<'_>, id: &str) -> Result<(), IdentityError> {
        let mut tx = self.inner.db.begin_write().await?;
        let (actor, user, held) = hold(&mut tx, caller, id).await?;
        if user.is_system {
            return Err(IdentityError::SystemUser);
        }
        guard_super_admin(&actor, &held)?;
        guard_last_super_admin(&mut tx, &user, &held).await?;
        repo::users::delete(&mut tx, &user.id).await?;
        self.end_sessions(&mut tx, &user.id, self.inner.ctx.now()).await?;
        let metadata = json!({ "username": user.username, "roles": held });
        let entry = about(&actor, caller, "users.delete", &user.id, metadata);
        self.inner.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Creates a user and returns its id.
    pub async fn create_user(&self, user: NewUser) -> Result<String, IdentityError> {
        let hash = self.inner.passwords.hash(&user.password, None).await?;
        let mut tx = self.inner.db.begin_write().await?;
        let id = self
            .insert_user(&mut tx, &user, &hash, self.inner.ctx.now())
            .await?;
        tx.commit().await?;
        Ok(id)
    }

    pub(super) async fn insert_user(
        &self,
        tx: &mut Tx,
        user: &NewUser,
        hash: &str,
        now: Timestamp,
    ) -> Result<String, IdentityError> {
        // When both name and address exist, the databases report different ones first.
        if repo::users::find_by_username(tx, &user.username).await?.is_some() {
            return Err(IdentityError::UsernameTaken);
        }
        let id = self.inner.ctx.id();
        repo::users::insert(tx, &id, user, hash, now)
            .await
            .map_err(IdentityError::taken)?;
        for &role in &user.roles {
            if !repo::roles::grant(tx, &id, role).await? {
                return Err(IdentityError::RoleMissing(role.name()));
            }
        }
        Ok(id)
    }
}

/// A page of users with their roles, from one snapshot.
pub(super) async fn listed_page(tx: &mut Tx, page: PageQuery) -> Result<UserList, IdentityError> {
    let (limit, offset) = (page.page_size as i64, page.offset() as i64);
    let rows = repo::users::page(tx, limit, offset).await?;
    let mut roles: HashMap<String, Vec<Role>> = HashMap::new();
    for (user_id, name) in repo::roles::roles_of_page(tx, limit, offset).await? {
        roles.entry(user_id).or_default().extend(Role::from_name(&name));
    }
    let total = repo::users::count(tx).await?;
    let users = rows
        .into_iter()
        .map(|row| {
            let roles = roles.remove(&row.id).unwrap_or_default();
            listed(row, sorted(roles))
        })
        .collect();
    Ok(UserList {
        users,
        total: total.max(0) as u64,
    })
}

fn listed(user: UserRow, roles: Vec<Role>) -> Listed {
    Listed {
        id: user.id,
        username: user.username,
        email: user.email,
        display_name: user.display_name,
        is_active: user.is_active,
        is_system: user.is_system,
        two_factor: user.totp_enabled,
        last_login_at: user.last_login_at.map(Timestamp::from_ms),
        created_at: Timestamp::from_ms(user.created_at),
        roles,
    }
}

/// Locks the rows that a change of this user may concern; returns the caller, the user and their roles.
async fn hold(
    tx: &mut Tx,
    caller: Caller<'_>,
    id: &str,
) -> Result<(Actor, UserRow, Vec<Role>), IdentityError> {
    repo::roles::lock(tx, Role::SuperAdmin).await?;
    let actor = judge_caller(tx, caller, Permission::UsersManage).await?;
    let user = repo::users::lock(tx, id)
        .await?
        .ok_or(IdentityError::UserNotFound)?;
    let roles = repo::roles::roles_of(tx, &user.id).await?;
    Ok((actor, user, roles))
}

/// The new roles of the user, if the caller may set them. Refusals come in the order that clients know.
fn wanted_roles(
    actor: &Actor,
    user: &UserRow,
    held: &[Role],
    names: Option<&[String]>,
) -> Result<Vec<Role>, IdentityError> {
    if let Some(names) = names {
        guard_grant(actor.is_super_admin(), names)?;
        if user.id == actor.user_id() {
            return Err(IdentityError::OwnRoles);
        }
    }
    guard_super_admin(actor, held)?;
    names.map_or_else(|| Ok(held.to_vec()), |names| Ok(sorted(parse_roles(names)?)))
}

/// Applies all changes except the roles; returns the changed fields by their API names.
fn apply(user: &mut UserRow, change: UserChange) -> Map<String, Value> {
    let mut changed = Map::new();
    let mut note = |name: &str, value: Value| drop(changed.insert(name.to_owned(), value));
    if let Some(email) = change.email.filter(|email| *email != user.email) {
        note("email", json!(email));
        user.email = email;
    }
    let display_name = change.display_name.applied_to(user.display_name.clone());
    if display_name != user.display_name {
        note("displayName", json!(display_name));
        user.display_name = display_name;
    }
    if let Some(is_active) = change.is_active.filter(|active| *active != user.is_active) {
        note("isActive", json!(is_active));
        user.is_active = is_active;
    }
    changed
}

/// Only a super admin grants that role.
fn guard_grant(by_super_admin: bool, names: &[String]) -> Result<(), IdentityError> {
    let asked = names.iter().any(|name| name == Role::SuperAdmin.name());
    if asked && !by_super_admin {
        return Err(IdentityError::GrantsSuperAdmin);
    }
    Ok(())
}

/// Only a super admin changes another one.
fn guard_super_admin(actor: &Actor, held: &[Role]) -> Result<(), IdentityError> {
    if held.contains(&Role::SuperAdmin) && !actor.is_super_admin() {
        return Err(IdentityError::ChangesSuperAdmin);
    }
    Ok(())
}

/// Refuses a change after which no active super admin would remain. The caller has called [`hold`].
async fn guard_last_super_admin(tx: &mut Tx, user: &UserRow, held: &[Role]) -> Result<(), IdentityError> {
    if user.is_active
        && held.contains(&Role::SuperAdmin)
        && repo::roles::other_active_holders(tx, Role::SuperAdmin, &user.id).await? == 0
    {
        return Err(IdentityError::LastSuperAdmin);
    }
    Ok(())
}

/// The roles of these names; an unknown or repeated name is an error.
fn parse_roles(names: &[String]) -> Result<Vec<Role>, IdentityError> {
    let mut roles = Vec::with_capacity(names.len().min(Role::ALL.len()));
    for name in names {
        match Role::from_name(name) {
            Some(role) if !roles.contains(&role) => roles.push(role),
            Some(_) | None => return Err(IdentityError::UnknownRoles),
        }
    }
    Ok(roles)
}

/// The most powerful role first.
fn sorted(mut roles: Vec<Role>) -> Vec<Role> {
    roles.sort_unstable();
    roles
}

fn about<'a>(
    actor: &Actor,
    caller: Caller<'a>,
    action: &'static str,
    user_id: &str,
    metadata: Value,
) -> AuditEntry<'a> {
    AuditEntry {
        object_type: Some("user"),
        object_id: Some(user_id.to_owned()),
        metadata: Some(metadata),
        ..actor.entry(action, caller.client)
    }
}
