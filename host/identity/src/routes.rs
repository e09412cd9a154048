//! HTTP surface of identity.

mod account;
mod api_keys;
mod auth;
mod faults;
mod users;

use qm_kernel::Permission as P;
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
        .add(routes!(account::profile, account::update_profile).authenticated())
        .add(routes!(account::password).authenticated())
        .add(routes!(account::two_factor).authenticated())
        .add(routes!(account::setup).authenticated())
        .add(routes!(account::enable).authenticated())
        .add(routes!(account::disable).authenticated())
        .add(routes!(account::recovery).authenticated())
        .add(routes!(users::list_users).need(P::UsersView))
        .add(routes!(users::create_user).need(P::UsersManage))
        .add(routes!(users::list_roles).need(P::UsersView))
        .add(routes!(users::update_user, users::delete_user).need(P::UsersManage))
        .add(routes!(api_keys::list_api_keys, api_keys::create_api_key).need(P::ApikeysManage))
        .add(routes!(api_keys::revoke_api_key).need(P::ApikeysManage))
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        let (kind, code) = (error.kind(), error.code());
        let answer = match error {
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
            | IdentityError::NoFreePrefix
            | IdentityError::QrCode(_)
            | IdentityError::Hashing(_)
            | IdentityError::Token(_)
            | IdentityError::RecoveryCodes { .. }
            | IdentityError::Acting(_)
            | IdentityError::Database(_) => ApiError::new(kind, error.to_string()).with_source(error),
            IdentityError::InvalidCredentials
            | IdentityError::InvalidTwoFactorCode
            | IdentityError::MalformedRefreshToken
            | IdentityError::InvalidRefreshToken
            | IdentityError::RefreshTokenReused
            | IdentityError::RefreshTokenRevoked
            | IdentityError::RefreshTokenExpired
            | IdentityError::AccountDisabled
            | IdentityError::WrongCurrentPassword
            | IdentityError::UsernameTaken
            | IdentityError::EmailTaken
            | IdentityError::UnknownTimezone(_)
            | IdentityError::TwoFactorAlreadyEnabled
            | IdentityError::TwoFactorNotSetUp
            | IdentityError::TwoFactorNotEnabled
            | IdentityError::InvalidVerificationCode
            | IdentityError::IncorrectPassword
            | IdentityError::UserNotFound
            | IdentityError::UnknownRoles
            | IdentityError::GrantsSuperAdmin
            | IdentityError::ChangesSuperAdmin
            | IdentityError::OwnRoles
            | IdentityError::LastSuperAdmin
            | IdentityError::SystemUser
            | IdentityError::TooManyAttempts
            | IdentityError::Busy => ApiError::new(kind, error.to_string()),
        };
        answer.with_code(code)
    }
}
