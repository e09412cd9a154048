//! Errors of accounts and tokens, and the answer for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Unknown user, wrong password or inactive account: one text for all three.
    #[error("Invalid credentials")]
    InvalidCredentials,
    #[error("Two-factor authentication code required")]
    TwoFactorRequired,
    #[error("Invalid two-factor code")]
    InvalidTwoFactorCode,
    #[error("Malformed refresh token")]
    MalformedRefreshToken,
    #[error("Invalid refresh token")]
    InvalidRefreshToken,
    #[error("Refresh token reuse detected")]
    RefreshTokenReused,
    /// Revoked by a new password, a logout, a deactivation, or with its family.
    #[error("Refresh token has been revoked")]
    RefreshTokenRevoked,
    #[error("Refresh token expired")]
    RefreshTokenExpired,
    #[error("Account is disabled")]
    AccountDisabled,
    #[error("Current password is incorrect")]
    WrongCurrentPassword,
    /// The token is valid, but its user was deleted meanwhile.
    #[error("the user of this token no longer exists")]
    NoSuchUser,
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error("Username is already in use")]
    UsernameTaken,
    #[error("Email is already in use")]
    EmailTaken,
    #[error("Unknown timezone: {0}")]
    UnknownTimezone(String),
    #[error("Two-factor is already enabled")]
    TwoFactorAlreadyEnabled,
    #[error("Start setup before enabling two-factor")]
    TwoFactorNotSetUp,
    #[error("Two-factor is not enabled")]
    TwoFactorNotEnabled,
    #[error("Invalid verification code")]
    InvalidVerificationCode,
    #[error("Incorrect password")]
    IncorrectPassword,
    #[error("User not found")]
    UserNotFound,
    #[error("One or more roles do not exist")]
    UnknownRoles,
    #[error("Only a super admin can grant the SUPER_ADMIN role")]
    GrantsSuperAdmin,
    #[error("Only a super admin can change a super admin")]
    ChangesSuperAdmin,
    #[error("You cannot change your own roles")]
    OwnRoles,
    #[error("The last active super admin cannot be deactivated, demoted or deleted")]
    LastSuperAdmin,
    #[error("System users cannot be deleted")]
    SystemUser,
    #[error("Too many logins at once: try again in a moment")]
    Busy,
    /// Several wrong passwords or codes in a row, while too many attempts wait.
    #[error("Too many attempts at this account: try again in a moment")]
    TooManyAttempts,
    #[error("role `{0}` is not in the database, run the seeding of the start first")]
    RoleMissing(&'static str),
    #[error("no free API key prefix was found")]
    NoFreePrefix,
    #[error("no QR code could be drawn: {0}")]
    QrCode(String),
    #[error("password hashing failed: {0}")]
    Hashing(String),
    #[error("an access token could not be written")]
    Token(#[source] jsonwebtoken::errors::Error),
    #[error("stored recovery codes of user `{user_id}` are not a list")]
    RecoveryCodes {
        user_id: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("identity could not use the database")]
    Database(#[from] DbError),
}

impl IdentityError {
    /// Converts a unique violation into an error that names the duplicate field.
    pub(crate) fn taken(error: DbError) -> Self {
        if error.is_unique_violation_of("users", "username") {
            IdentityError::UsernameTaken
        } else if ["email", "email_folded"]
            .iter()
            .any(|column| error.is_unique_violation_of("users", column))
        {
            IdentityError::EmailTaken
        } else {
            IdentityError::Database(error)
        }
    }

    pub const fn kind(&self) -> ErrorKind {
        match self {
            IdentityError::InvalidCredentials
            | IdentityError::TwoFactorRequired
            | IdentityError::InvalidTwoFactorCode
            | IdentityError::MalformedRefreshToken
            | IdentityError::InvalidRefreshToken
            | IdentityError::RefreshTokenReused
            | IdentityError::RefreshTokenRevoked
            | IdentityError::RefreshTokenExpired
            | IdentityError::AccountDisabled
            | IdentityError::IncorrectPassword
            | IdentityError::NoSuchUser => ErrorKind::Unauthorized,
            IdentityError::WrongCurrentPassword
            | IdentityError::UnknownTimezone(_)
            | IdentityError::TwoFactorAlreadyEnabled
            | IdentityError::TwoFactorNotSetUp
            | IdentityError::TwoFactorNotEnabled
            | IdentityError::InvalidVerificationCode
            | IdentityError::UnknownRoles
            | IdentityError::SystemUser => ErrorKind::BadRequest,
            IdentityError::GrantsSuperAdmin
            | IdentityError::ChangesSuperAdmin
            | IdentityError::OwnRoles
            | IdentityError::LastSuperAdmin => ErrorKind::Forbidden,
            IdentityError::UserNotFound => ErrorKind::NotFound,
            IdentityError::UsernameTaken | IdentityError::EmailTaken => ErrorKind::Conflict,
            IdentityError::Busy => ErrorKind::Unavailable,
            IdentityError::TooManyAttempts => ErrorKind::TooManyRequests,
            IdentityError::RoleMissing(_)
            | IdentityError::NoFreePrefix
            | IdentityError::QrCode(_)
            | IdentityError::Hashing(_)
            | IdentityError::Token(_)
            | IdentityError::RecoveryCodes { .. } => ErrorKind::Internal,
            IdentityError::Acting(error) => error.kind(),
            IdentityError::Database(error) => error.kind(),
        }
    }
    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            IdentityError::InvalidCredentials => "unauthorized.credentials",
            IdentityError::TwoFactorRequired => "unauthorized.two_factor_required",
            IdentityError::InvalidTwoFactorCode => "unauthorized.two_factor_code",
            IdentityError::MalformedRefreshToken => "unauthorized.refresh_token_malformed",
            IdentityError::InvalidRefreshToken => "unauthorized.refresh_token",
            IdentityError::RefreshTokenReused => "unauthorized.refresh_token_reused",
            IdentityError::RefreshTokenRevoked => "unauthorized.refresh_token_revoked",
            IdentityError::RefreshTokenExpired => "unauthorized.refresh_token_expired",
            IdentityError::AccountDisabled => "unauthorized.account_disabled",
            IdentityError::IncorrectPassword => "unauthorized.password",
            IdentityError::NoSuchUser => "unauthorized.user_gone",
            IdentityError::WrongCurrentPassword => "bad_request.current_password",
            IdentityError::UnknownTimezone(_) => "bad_request.timezone",
            IdentityError::TwoFactorAlreadyEnabled => "bad_request.two_factor_enabled",
            IdentityError::TwoFactorNotSetUp => "bad_request.two_factor_not_set_up",
            IdentityError::TwoFactorNotEnabled => "bad_request.two_factor_not_enabled",
            IdentityError::InvalidVerificationCode => "bad_request.verification_code",
            IdentityError::UnknownRoles => "bad_request.roles",
            IdentityError::SystemUser => "bad_request.system_user",
            IdentityError::GrantsSuperAdmin => "forbidden.grants_super_admin",
            IdentityError::ChangesSuperAdmin => "forbidden.changes_super_admin",
            IdentityError::OwnRoles => "forbidden.own_roles",
            IdentityError::LastSuperAdmin => "forbidden.last_super_admin",
            IdentityError::UserNotFound => "not_found.user",
            IdentityError::UsernameTaken => "conflict.username",
            IdentityError::EmailTaken => "conflict.email",
            IdentityError::Busy => "unavailable.logins",
            IdentityError::TooManyAttempts => "throttled.account",
            IdentityError::RoleMissing(_)
            | IdentityError::NoFreePrefix
            | IdentityError::QrCode(_)
            | IdentityError::Hashing(_)
            | IdentityError::Token(_)
            | IdentityError::RecoveryCodes { .. } => ErrorKind::Internal.code(),
            IdentityError::Acting(error) => error.code(),
            IdentityError::Database(error) => error.kind().code(),
        }
    }
}
