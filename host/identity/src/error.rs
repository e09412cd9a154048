//! What can go wrong with an account or a token, and how each failure reads on the wire.

use qm_db::DbError;
use qm_kernel::ErrorKind;

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
    #[error("Refresh token expired")]
    RefreshTokenExpired,
    #[error("Account is disabled")]
    AccountDisabled,
    #[error("Current password is incorrect")]
    WrongCurrentPassword,
    /// The token is good, but its user was deleted meanwhile.
    #[error("the user of this token no longer exists")]
    NoSuchUser,
    #[error("Username or email is already in use")]
    Taken,
    #[error("Too many logins at once, try again in a moment")]
    Busy,
    #[error("role `{0}` is not in the database, run the seeding of the start first")]
    RoleMissing(&'static str),
    #[error("password hashing failed: {0}")]
    Hashing(String),
    #[error("an access token could not be written")]
    Token(#[source] serde_json::Error),
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
    pub const fn kind(&self) -> ErrorKind {
        match self {
            IdentityError::InvalidCredentials
            | IdentityError::TwoFactorRequired
            | IdentityError::InvalidTwoFactorCode
            | IdentityError::MalformedRefreshToken
            | IdentityError::InvalidRefreshToken
            | IdentityError::RefreshTokenReused
            | IdentityError::RefreshTokenExpired
            | IdentityError::AccountDisabled
            | IdentityError::NoSuchUser => ErrorKind::Unauthorized,
            IdentityError::WrongCurrentPassword => ErrorKind::BadRequest,
            IdentityError::Taken => ErrorKind::Conflict,
            IdentityError::Busy => ErrorKind::Unavailable,
            IdentityError::RoleMissing(_)
            | IdentityError::Hashing(_)
            | IdentityError::Token(_)
            | IdentityError::RecoveryCodes { .. } => ErrorKind::Internal,
            IdentityError::Database(error) => error.kind(),
        }
    }
}
