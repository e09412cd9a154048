//! Domain types of identity and the pure rules on them.

pub mod recovery;
pub mod refresh;
pub mod totp;

use qm_kernel::{PermissionSet, Role, Secret};

/// A user with what their roles grant, freshly read.
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

/// The administrator that seeding creates when no user has the name.
#[derive(Clone, Debug)]
pub struct FirstAdmin {
    pub username: String,
    pub email: String,
    /// `None` = generate one; see [`crate::Seeded::generated_password`].
    pub password: Option<Secret>,
}
