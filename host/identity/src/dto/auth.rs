//! Bodies of `/api/auth`.

use qm_kernel::{Permission, Role, Secret};
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::Account;
use crate::model::answers::Session;

/// The lifetime that login and refresh announce, in seconds. It stays 900 whatever `JWT_ACCESS_TTL` says;
/// the `exp` claim inside the token is what counts.
const ANNOUNCED_LIFETIME_SECS: u32 = 900;

/// A user name and password, with a code when the account has two-factor authentication.
#[derive(ToSchema, FromBody)]
pub struct LoginRequest {
    #[field(max = 120)]
    #[schema(example = "admin")]
    pub username: String,
    #[field(min = 1, max = 256)]
    #[schema(value_type = String)]
    pub password: Secret,
    /// A six-digit code or a recovery code.
    #[field(max = 64)]
    pub totp: Option<String>,
}

/// The refresh token last issued.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct RefreshRequest {
    #[schema(value_type = String)]
    pub refresh_token: Secret,
}

/// Any refresh token of the caller; all of them are revoked whichever it is.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[expect(
    dead_code,
    reason = "clients must send it; the tokens revoked are those of the bearer"
)]
pub struct LogoutRequest {
    #[schema(value_type = String)]
    pub refresh_token: Secret,
}

/// The password in use and the one to use from now on.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct ChangePasswordRequest {
    #[schema(value_type = String)]
    pub current_password: Secret,
    #[field(min = 10, max = 256)]
    #[schema(value_type = String)]
    pub new_password: Secret,
}

/// A user as login, refresh and `me` show them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthUser {
    /// UUID.
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    #[schema(value_type = Vec<String>, example = json!(["ADMINISTRATOR"]))]
    pub roles: Vec<Role>,
    /// Permissions of all roles together, each once; `SUPER_ADMIN` lists the whole catalogue.
    #[schema(value_type = Vec<String>, example = json!(["torrents.view", "torrents.add"]))]
    pub permissions: Vec<Permission>,
    pub is_active: bool,
    /// IANA zone name; null = follow the device.
    pub timezone: Option<String>,
}

/// A pair of tokens and whom they belong to.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenResponse {
    /// JWT for `Authorization: Bearer`.
    pub access_token: String,
    /// Good for one refresh; keep the newest.
    pub refresh_token: String,
    /// Seconds; always 900. The `exp` claim of the access token is authoritative.
    #[schema(example = 900)]
    pub expires_in: u32,
    pub user: AuthUser,
}

impl From<Account> for AuthUser {
    fn from(account: Account) -> Self {
        Self {
            id: account.id,
            username: account.username,
            email: account.email,
            display_name: account.display_name,
            roles: account.roles,
            permissions: account.permissions.iter().collect(),
            is_active: account.is_active,
            timezone: account.timezone,
        }
    }
}

impl From<Session> for TokenResponse {
    fn from(session: Session) -> Self {
        Self {
            access_token: session.access_token,
            refresh_token: session.refresh_token.expose().to_owned(),
            expires_in: ANNOUNCED_LIFETIME_SECS,
            user: session.account.into(),
        }
    }
}
