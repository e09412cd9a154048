//! Inputs and results of the services.

use qm_db::FromRow;
use qm_kernel::{Secret, Timestamp};

use super::{Account, Listed};

/// Tokens of a new session.
pub struct Session {
    pub access_token: String,
    /// Token text for the client, shown once.
    pub refresh_token: Secret,
    pub account: Account,
}

/// Data for an authenticator app, shown while the second factor is set up.
pub struct Setup {
    /// Base32.
    pub seed: Secret,
    /// URI with the seed and the names of service and account.
    pub otpauth_url: Secret,
    /// QR code of the URI, as a `data:` URL.
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

/// A new API key.
pub struct NewApiKey {
    pub prefix: String,
    /// Prefix and secret, shown once.
    pub key: Secret,
    pub name: String,
}

/// A user that an administrator creates.
pub struct UserRequest {
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub password: Secret,
    /// Names of the roles, as in the request.
    pub role_names: Vec<String>,
}

/// A page of users and the total number.
pub struct UserList {
    pub users: Vec<Listed>,
    pub total: u64,
}

/// A role with all stored fields.
#[derive(FromRow)]
pub struct FullRole {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub is_system: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A permission of a role.
#[derive(FromRow)]
pub struct Link {
    pub role_id: String,
    pub permission_id: String,
    pub key: String,
    pub description: Option<String>,
}
