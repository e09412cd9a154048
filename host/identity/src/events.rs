//! The domain events of identity.

use qm_kernel::event::EventSpec;

/// Several failed logins in a row on an existing account.
pub const LOGIN_FAILED: &str = "security.login_failed";
pub const PASSWORD_CHANGED: &str = "security.password_changed";
pub const TWO_FACTOR_DISABLED: &str = "security.two_factor_disabled";
pub const API_KEY_CREATED: &str = "security.api_key_created";
pub const USER_CREATED: &str = "user.created";
/// A user's roles were set, to other ones or to the same.
pub const ROLE_CHANGED: &str = "user.role_changed";

/// To be registered with the bus.
pub const EVENTS: &[EventSpec] = &[
    EventSpec {
        key: LOGIN_FAILED,
        required: &["username"],
        window_secs: 300,
    },
    EventSpec {
        key: PASSWORD_CHANGED,
        required: &[],
        window_secs: 0,
    },
    EventSpec {
        key: TWO_FACTOR_DISABLED,
        required: &[],
        window_secs: 0,
    },
    EventSpec {
        key: API_KEY_CREATED,
        required: &["keyName"],
        window_secs: 0,
    },
    EventSpec {
        key: USER_CREATED,
        required: &["username"],
        window_secs: 0,
    },
    EventSpec {
        key: ROLE_CHANGED,
        required: &["username"],
        window_secs: 0,
    },
];
