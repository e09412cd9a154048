//! Bodies of `/api/users`.

use qm_kernel::{PageQuery, Role, Secret, Timestamp};
use qm_web::{FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use super::{display_name, display_name_change, is_printable};
use crate::model::answers::{FullRole, Link, UserList, UserRequest};
use crate::model::{Change, Listed, UserChange};

const MAX_PAGE: u64 = 200;
const USERNAME_RULE: &str = "must not begin or end with a space or contain control characters";
/// Largest number of characters of a user name in a login.
const MAX_USERNAME: usize = 120;
/// More roles than exist; a longer list must contain duplicates.
const MAX_ROLES: usize = 20;

/// Page of the list of users.
#[derive(FromQuery)]
pub struct UserQuery(#[field(page = MAX_PAGE)] pub PageQuery);

/// A user to create.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct CreateUser {
    /// Told apart by case.
    #[field(min = 1, max = MAX_USERNAME, check(is_username, USERNAME_RULE))]
    #[schema(example = "jo")]
    pub username: String,
    #[field(email)]
    pub email: String,
    #[field(with = display_name)]
    pub display_name: Option<String>,
    #[field(min = 10, max = 256)]
    #[schema(value_type = String)]
    pub password: Secret,
    /// Each once; see `GET /api/users/roles`.
    #[field(min_items = 1, max_items = MAX_ROLES)]
    #[schema(example = json!(["USER"]))]
    pub role_names: Vec<String>,
}

/// Changes of a user; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct UpdateUser {
    #[field(email)]
    pub email: Option<String>,
    /// `null` or blank removes it.
    #[field(with = display_name_change)]
    #[schema(value_type = Option<String>)]
    pub display_name: Change<String>,
    /// False also revokes all of the user's refresh tokens.
    pub is_active: Option<bool>,
    /// Replaces the set.
    #[field(min_items = 1, max_items = MAX_ROLES)]
    #[schema(example = json!(["USER"]))]
    pub role_names: Option<Vec<String>>,
}

/// A user as administrators see them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    /// UUID.
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub is_active: bool,
    /// The first administrator: cannot be deleted.
    pub is_system: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_login_at: Option<Timestamp>,
    #[schema(value_type = Vec<String>, example = json!(["USER"]))]
    pub roles: Vec<Role>,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserPage {
    pub items: Vec<UserView>,
    /// Users over all pages.
    pub total: u64,
    /// The page used, from 1.
    pub page: u64,
    /// The page size used, at most 200.
    pub page_size: u64,
}

/// A role and what it grants.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleView {
    /// UUID.
    pub id: String,
    #[schema(example = "POWER_USER")]
    pub name: String,
    pub description: Option<String>,
    pub is_system: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// By key.
    pub permissions: Vec<RolePermission>,
}

/// The link of a role to a permission.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolePermission {
    pub role_id: String,
    pub permission_id: String,
    pub permission: PermissionView,
}

/// A permission.
#[derive(Serialize, ToSchema)]
pub struct PermissionView {
    /// UUID.
    pub id: String,
    #[schema(example = "torrents.view")]
    pub key: String,
    pub description: Option<String>,
}

impl From<Listed> for UserView {
    fn from(user: Listed) -> Self {
        Self {
            id: user.id,
            username: user.username,
            email: user.email,
            display_name: user.display_name,
            is_active: user.is_active,
            is_system: user.is_system,
            last_login_at: user.last_login_at,
            roles: user.roles,
        }
    }
}

impl UserPage {
    pub fn new(list: UserList, query: PageQuery) -> Self {
        Self {
            items: list.users.into_iter().map(UserView::from).collect(),
            total: list.total,
            page: query.page,
            page_size: query.page_size,
        }
    }
}

impl From<(FullRole, Vec<Link>)> for RoleView {
    fn from((role, links): (FullRole, Vec<Link>)) -> Self {
        let FullRole {
            id,
            name,
            description,
            is_system,
            created_at,
            updated_at,
        } = role;
        Self {
            id,
            name,
            description,
            is_system,
            created_at: Timestamp::from_ms(created_at),
            updated_at: Timestamp::from_ms(updated_at),
            permissions: links.into_iter().map(RolePermission::from).collect(),
        }
    }
}

impl From<Link> for RolePermission {
    fn from(link: Link) -> Self {
        let Link {
            role_id,
            permission_id,
            key,
            description,
        } = link;
        Self {
            role_id,
            permission: PermissionView {
                id: permission_id.clone(),
                key,
                description,
            },
            permission_id,
        }
    }
}

impl From<CreateUser> for UserRequest {
    fn from(body: CreateUser) -> Self {
        let CreateUser {
            username,
            email,
            display_name,
            password,
            role_names,
        } = body;
        Self {
            username,
            email,
            display_name: display_name.filter(|name| !name.trim().is_empty()),
            password,
            role_names,
        }
    }
}

impl From<UpdateUser> for UserChange {
    fn from(body: UpdateUser) -> Self {
        let UpdateUser {
            email,
            display_name,
            is_active,
            role_names,
        } = body;
        Self {
            email,
            display_name,
            is_active,
            role_names,
        }
    }
}

/// Refuses names that look like another one, which would deceive readers of lists.
fn is_username(text: &str) -> bool {
    is_printable(text) && text.trim() == text
}
