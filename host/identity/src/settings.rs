//! Settings of the accounts.

use qm_platform::settings;

settings! {
    of "identity";

    /// For information: JWT_REFRESH_TTL_DAYS decides.
    pub REFRESH_TOKEN_TTL_DAYS: i64 = "security.refreshTokenTtlDays", || 30, accepts(|days| *days >= 1), seeded();

    /// For information: JWT_ACCESS_TTL decides.
    pub ACCESS_TOKEN_TTL_MINUTES: i64 = "security.accessTokenTtlMinutes", || 15, accepts(|minutes| *minutes >= 1), seeded();
}
