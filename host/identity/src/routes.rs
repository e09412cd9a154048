//! HTTP surface of identity.

mod auth;

use qm_web::{ApiError, Routes, routes};
use serde_json::json;

use crate::error::IdentityError;
use crate::service::Identity;

const LOGINS_A_MINUTE: u32 = 5;
const REFRESHES_A_MINUTE: u32 = 20;

pub fn routes() -> Routes<Identity> {
    Routes::new()
        .add(routes!(auth::login).public().limit(LOGINS_A_MINUTE))
        .add(routes!(auth::refresh).public().limit(REFRESHES_A_MINUTE))
        .add(routes!(auth::logout).authenticated())
        .add(routes!(auth::me).authenticated())
        .add(routes!(auth::change_password).authenticated())
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        let kind = error.kind();
        match error {
            IdentityError::TwoFactorRequired => ApiError::custom(
                kind,
                json!({
                    "statusCode": kind.status(),
                    "error": "TwoFactorRequired",
                    "message": error.to_string(),
                    "twoFactorRequired": true,
                }),
            ),
            IdentityError::NoSuchUser => ApiError::bare(kind.status()),
            IdentityError::RoleMissing(_)
            | IdentityError::Hashing(_)
            | IdentityError::Token(_)
            | IdentityError::RecoveryCodes { .. }
            | IdentityError::Database(_) => ApiError::new(kind, error.to_string()).with_source(error),
            IdentityError::InvalidCredentials
            | IdentityError::InvalidTwoFactorCode
            | IdentityError::MalformedRefreshToken
            | IdentityError::InvalidRefreshToken
            | IdentityError::RefreshTokenReused
            | IdentityError::RefreshTokenExpired
            | IdentityError::AccountDisabled
            | IdentityError::WrongCurrentPassword
            | IdentityError::Taken
            | IdentityError::Busy => ApiError::new(kind, error.to_string()),
        }
    }
}
