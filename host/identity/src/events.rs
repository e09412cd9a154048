//! The domain events of identity.

use qm_kernel::event::EventSpec;

/// Several failed logins in a row on an existing account.
pub const LOGIN_FAILED: &str = "security.login_failed";
pub const PASSWORD_CHANGED: &str = "security.password_changed";

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
];
