//! Tables `roles`, `permissions` and the links between them and users.

use crate::model::answers::{FullRole, Link};
use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{Permission, PermissionSet, Role, Timestamp};

sql! {
    ROLES_OF_USER = "SELECT r.name FROM roles r JOIN user_roles ur ON ur.role_id = r.id WHERE ur.user_id = $1";
    /// One row with comma-separated roles and keys: every login and `me` request reads all permissions, and
    /// one row per permission would cost more than the rest of the request.
    GRANTED_TO_USER = "SELECT (SELECT string_agg(r.name, ',') FROM roles r JOIN user_roles ur ON ur.role_id = r.id \
        WHERE ur.user_id = $1), (SELECT string_agg(granted.key, ',') FROM (SELECT DISTINCT p.key FROM permissions p \
        JOIN role_permissions rp ON rp.permission_id = p.id \
        JOIN user_roles ur ON ur.role_id = rp.role_id WHERE ur.user_id = $1) AS granted)";
    ALL_PERMISSIONS = "SELECT id, key AS name FROM permissions";
    INSERT_PERMISSION = "INSERT INTO permissions (id, key, description) VALUES ($1, $2, $2) ON CONFLICT (key) DO NOTHING";
    ALL_ROLES = "SELECT id, name FROM roles";
    INSERT_ROLE = "INSERT INTO roles (id, name, description, is_system, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (name) DO NOTHING";
    LINKS_OF_ROLE = "SELECT permission_id FROM role_permissions WHERE role_id = $1";
    UNLINK_ROLE = "DELETE FROM role_permissions WHERE role_id = $1";
    LINK_ROLE = "INSERT INTO role_permissions (role_id, permission_id) VALUES ($1, $2) \
        ON CONFLICT (role_id, permission_id) DO NOTHING";
    GRANT = "INSERT INTO user_roles (user_id, role_id) SELECT $1, id FROM roles WHERE name = $2 \
        ON CONFLICT (user_id, role_id) DO NOTHING";
    HAS_ROLE = "SELECT COUNT(*) FROM user_roles ur JOIN roles r ON r.id = ur.role_id \
        WHERE ur.user_id = $1 AND r.name = $2";
    REVOKE_ALL = "DELETE FROM user_roles WHERE user_id = $1";
    ROLES_OF_PAGE = "SELECT ur.user_id, r.name FROM user_roles ur JOIN roles r ON r.id = ur.role_id WHERE ur.user_id IN \
        (SELECT id FROM users ORDER BY created_at, id LIMIT $1 OFFSET $2)";
    LOCK = "UPDATE roles SET updated_at = updated_at WHERE name = $1";
    OTHER_ACTIVE_HOLDERS = "SELECT COUNT(*) FROM user_roles ur JOIN roles r ON r.id = ur.role_id \
        JOIN users u ON u.id = ur.user_id WHERE r.name = $1 AND u.is_active AND u.id <> $2";
    FULL_ROLES = "SELECT id, name, description, is_system, created_at, updated_at FROM roles ORDER BY name";
    FULL_LINKS = "SELECT rp.role_id, p.id AS permission_id, p.key, p.description FROM role_permissions rp \
        JOIN permissions p ON p.id = rp.permission_id ORDER BY p.key";
}

/// Id and name of a role or permission.
#[derive(FromRow)]
pub struct Named {
    pub id: String,
    pub name: String,
}

/// The user's roles, the most powerful first.
pub async fn roles_of(tx: &mut Tx, user_id: &str) -> Result<Vec<Role>, DbError> {
    let names = qm_db::all!(tx, (String,), ROLES_OF_USER, user_id).await?;
    let mut roles: Vec<Role> = names.iter().filter_map(|(name,)| Role::from_name(name)).collect();
    roles.sort_unstable();
    Ok(roles)
}

/// The user's roles, the most powerful first, and the permissions that they grant together.
pub async fn granted_to(tx: &mut Tx, user_id: &str) -> Result<(Vec<Role>, PermissionSet), DbError> {
    let (roles, keys) = qm_db::one!(tx, (Option<String>, Option<String>), GRANTED_TO_USER, user_id).await?;
    let words = |text: Option<String>| text.unwrap_or_default();
    let (roles, keys) = (words(roles), words(keys));
    let mut roles: Vec<Role> = roles.split(',').filter_map(Role::from_name).collect();
    roles.sort_unstable();
    Ok((roles, keys.split(',').filter_map(Permission::from_key).collect()))
}

pub async fn all_permissions(tx: &mut Tx) -> Result<Vec<Named>, DbError> {
    qm_db::all!(tx, Named, ALL_PERMISSIONS).await
}

/// Inserts a permission unless it is there; the description is the key.
pub async fn insert_permission(tx: &mut Tx, id: String, key: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, INSERT_PERMISSION, id, key).await.map(drop)
}

pub async fn all_roles(tx: &mut Tx) -> Result<Vec<Named>, DbError> {
    qm_db::all!(tx, Named, ALL_ROLES).await
}

/// Inserts a seeded role unless it is there.
pub async fn insert_role(tx: &mut Tx, id: String, name: &str, now: Timestamp) -> Result<(), DbError> {
    let description = format!("{name} (system role)");
    qm_db::exec!(tx, INSERT_ROLE, id, name, description, true, now.ms())
        .await
        .map(drop)
}

/// Ids of the permissions of the role.
pub async fn links_of(tx: &mut Tx, role_id: &str) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), LINKS_OF_ROLE, role_id).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Replaces the role's permissions. Another starting process may insert the same rows concurrently.
pub async fn relink(tx: &mut Tx, role_id: &str, permission_ids: &[&str]) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, UNLINK_ROLE, role_id).await?;
    for permission_id in permission_ids {
        let _ = qm_db::exec!(tx, LINK_ROLE, role_id, *permission_id).await?;
    }
    Ok(())
}

/// Gives the user a role. False when the database has no such role.
pub async fn grant(tx: &mut Tx, user_id: &str, role: Role) -> Result<bool, DbError> {
    // Nothing is inserted when the user has it already, so a query decides.
    let _ = qm_db::exec!(tx, GRANT, user_id, role.name()).await?;
    Ok(qm_db::value!(tx, i64, HAS_ROLE, user_id, role.name()).await? == 1)
}

/// Replaces the user's roles. The caller holds the user's row.
pub async fn set_roles(tx: &mut Tx, user_id: &str, roles: &[Role]) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, REVOKE_ALL, user_id).await?;
    for role in roles {
        qm_db::exec!(tx, GRANT, user_id, role.name()).await?.exactly(1)?;
    }
    Ok(())
}

/// The roles of the users on a page of [`super::users::page`]: user id and role name.
pub async fn roles_of_page(tx: &mut Tx, limit: i64, offset: i64) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), ROLES_OF_PAGE, limit, offset).await
}

/// Locks the role's row until the transaction ends. A change that may remove an active holder of the role
/// locks it first, and only then a user's row: on Postgres two such changes would otherwise each rely on the
/// other's holder.
pub async fn lock(tx: &mut Tx, role: Role) -> Result<(), DbError> {
    qm_db::exec!(tx, LOCK, role.name()).await.map(drop)
}

/// Number of other active users with the role.
pub async fn other_active_holders(tx: &mut Tx, role: Role, user_id: &str) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, OTHER_ACTIVE_HOLDERS, role.name(), user_id).await
}

/// Every role by name.
pub async fn full_roles(tx: &mut Tx) -> Result<Vec<FullRole>, DbError> {
    qm_db::all!(tx, FullRole, FULL_ROLES).await
}

/// Every permission of every role, by key.
pub async fn full_links(tx: &mut Tx) -> Result<Vec<Link>, DbError> {
    qm_db::all!(tx, Link, FULL_LINKS).await
}
