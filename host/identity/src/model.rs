//! Domain types and pure rules of identity.

pub mod answers;
pub mod api_key;
pub mod qr;
pub mod recovery;
pub mod refresh;
pub mod totp;

use qm_kernel::{PermissionSet, Role, Secret, Timestamp};

/// A user with the permissions of their roles, freshly read.
#[derive(Clone, Debug)]
pub struct Account {
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    /// IANA zone name; `None` = follow the device.
    pub timezone: Option<String>,
    pub is_active: bool,
    pub roles: Vec<Role>,
    pub permissions: PermissionSet,
}

/// A user to create.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub password: Secret,
    pub roles: Vec<Role>,
    /// True only for the seeded administrator: such a user cannot be deleted.
    pub is_system: bool,
}

/// Administrator that seeding creates when no user has the name.
#[derive(Clone, Debug)]
pub struct FirstAdmin {
    pub username: String,
    pub email: String,
    /// `None` = generate one; see [`crate::Seeded::generated_password`].
    pub password: Option<Secret>,
}

/// Change of an optional value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    Keep,
    Clear,
    Set(T),
}

impl<T> Change<T> {
    /// The value afterwards.
    pub fn applied_to(self, old: Option<T>) -> Option<T> {
        match self {
            Change::Keep => old,
            Change::Clear => None,
            Change::Set(new) => Some(new),
        }
    }
}

/// Profile as its owner sees it.
#[derive(Clone, Debug)]
pub struct Profile {
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub roles: Vec<Role>,
    pub timezone: Option<String>,
    pub two_factor: bool,
    pub last_login_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Changes that users may make to their own account.
#[derive(Clone, Debug)]
pub struct ProfileChange {
    pub email: Option<String>,
    pub display_name: Change<String>,
    /// Text from the request; see [`qm_kernel::timezone::choose`].
    pub timezone: Change<String>,
}

/// A user as lists show them.
#[derive(Clone, Debug)]
pub struct Listed {
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub is_active: bool,
    pub is_system: bool,
    pub two_factor: bool,
    pub last_login_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub roles: Vec<Role>,
}

/// Changes that administrators may make to a user.
#[derive(Clone, Debug)]
pub struct UserChange {
    pub email: Option<String>,
    pub display_name: Change<String>,
    pub is_active: Option<bool>,
    /// Replaces all roles; names as in the request.
    pub role_names: Option<Vec<String>>,
}
