//! Domain events of identity. Each is about a user, who is also the affected user.

use qm_kernel::Role;
use qm_kernel::event::EventSpec;

qm_kernel::events! {
    /// Several consecutive failed logins on an existing account.
    pub struct LoginFailed: "security.login_failed" about "user", once in 300 {
        username: String,
        display_name: Option<String>,
        /// Failed logins since the last success.
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

    /// A user's roles were set, possibly to the same ones.
    pub struct RoleChanged: "user.role_changed" about "user" {
        username: String,
        display_name: Option<String>,
        /// The new roles.
        roles: Vec<Role>,
    }
}

/// Events to register with the event bus.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<LoginFailed>(),
    EventSpec::for_event::<PasswordChanged>(),
    EventSpec::for_event::<TwoFactorDisabled>(),
    EventSpec::for_event::<ApiKeyCreated>(),
    EventSpec::for_event::<UserCreated>(),
    EventSpec::for_event::<RoleChanged>(),
];
