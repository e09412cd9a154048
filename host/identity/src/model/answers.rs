//! What the services answer, before it is shaped for the wire, and what is asked of them.

use qm_db::FromRow;
use qm_kernel::{Secret, Timestamp};

use super::{Account, Listed};

/// The tokens of a session that was opened.
pub struct Session {
    pub access_token: String,
    /// Wire form, shown once.
    pub refresh_token: Secret,
    pub account: Account,
}

/// What an authenticator needs, shown while the second factor is set up.
pub struct Setup {
    /// Base32.
    pub seed: Secret,
    /// The seed with the names of service and account, as a URI.
    pub otpauth_url: Secret,
    /// The URI as a picture, in a `data:` URL.
    pub qr_data_url: Secret,
}

/// A key as lists show it.
pub struct ApiKey {
    pub id: String,
    pub name: String,
    pub prefix: String,
    pub scopes: Vec<String>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// A key just made.
pub struct NewApiKey {
    pub prefix: String,
    /// Both halves, shown once.
    pub key: Secret,
    pub name: String,
}

/// A user that an administrator asks for.
pub struct UserRequest {
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub password: Secret,
    /// Names of the roles, as the caller wrote them.
    pub role_names: Vec<String>,
}

/// Some users and how many there are.
pub struct UserList {
    pub users: Vec<Listed>,
    pub total: u64,
}

/// A role with everything that is stored about it.
#[derive(FromRow)]
pub struct FullRole {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub is_system: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

/// What a role is linked to.
#[derive(FromRow)]
pub struct Link {
    pub role_id: String,
    pub permission_id: String,
    pub key: String,
    pub description: Option<String>,
}
