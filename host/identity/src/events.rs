//! The domain events of identity. Each is about a user, whom it concerns as well.

use qm_kernel::Role;
use qm_kernel::event::EventSpec;

qm_kernel::events! {
    /// Several failed logins in a row on an existing account.
    pub struct LoginFailed: "security.login_failed" about "user", once in 300 {
        username: String,
        display_name: Option<String>,
        /// Failed logins since the last one that went well.
        attempts: i64,
    }

    pub struct PasswordChanged: "security.password_changed" about "user" {}

    pub struct TwoFactorDisabled: "security.two_factor_disabled" about "user" {}

    pub struct ApiKeyCreated: "security.api_key_created" about "user" {
        key_name: String,
    }

    pub struct UserCreated: "user.created" about "user" {
        username: String,
        display_name: Option<String>,
    }

    /// A user's roles were set, to other ones or to the same.
    pub struct RoleChanged: "user.role_changed" about "user" {
        username: String,
        display_name: Option<String>,
        /// The roles from now on.
        roles: Vec<Role>,
    }
}

/// To be registered with the bus.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::of::<LoginFailed>(),
    EventSpec::of::<PasswordChanged>(),
    EventSpec::of::<TwoFactorDisabled>(),
    EventSpec::of::<ApiKeyCreated>(),
    EventSpec::of::<UserCreated>(),
    EventSpec::of::<RoleChanged>(),
];
