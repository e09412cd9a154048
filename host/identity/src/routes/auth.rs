//! `/api/auth`: login, refresh, logout, me, change of password.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, By, Client, Created, Json};

use super::faults;
use crate::dto::Done;
use crate::dto::auth::{
    AuthUser, ChangePasswordRequest, LoginRequest, LogoutRequest, RefreshRequest, TokenResponse,
};
use crate::service::Identity;
use crate::service::login::Credentials;

const TAG: &str = "auth";

/// Sign in.
///
/// An account with two-factor authentication answers 401 with `twoFactorRequired: true` until the request carries
/// a code in `totp`. Every other failure reads `Invalid credentials`, or `Invalid two-factor code`.
#[utoipa::path(
    post, path = "/api/auth/login", tag = TAG,
    request_body = Body<LoginRequest>,
    responses((status = 201, description = "A new session", body = TokenResponse), faults::Login),
)]
pub async fn login(
    State(identity): State<Identity>,
    Client(client): Client,
    Body(request): Body<LoginRequest>,
) -> ApiResult<Created<TokenResponse>> {
    let LoginRequest {
        username,
        password,
        totp,
    } = request;
    let session = identity
        .login(
            Credentials {
                username,
                password,
                second_factor: totp,
            },
            &client,
        )
        .await?;
    Ok(Created(session.into()))
}

/// Exchange a refresh token for a new pair.
///
/// The presented token is spent. Presenting it again ends every token that descends from the same login.
#[utoipa::path(
    post, path = "/api/auth/refresh", tag = TAG,
    request_body = Body<RefreshRequest>,
    responses((status = 201, description = "The session goes on", body = TokenResponse), faults::Refresh),
)]
pub async fn refresh(
    State(identity): State<Identity>,
    Client(client): Client,
    Body(request): Body<RefreshRequest>,
) -> ApiResult<Created<TokenResponse>> {
    let session = identity.refresh(&request.refresh_token, &client).await?;
    Ok(Created(session.into()))
}

/// Sign out everywhere.
///
/// Revokes all of the caller's refresh tokens, whichever is presented; access tokens live until they expire.
#[utoipa::path(
    post, path = "/api/auth/logout", tag = TAG,
    request_body = Body<LogoutRequest>,
    responses((status = 201, description = "Signed out", body = Done)),
)]
pub async fn logout(
    State(identity): State<Identity>,
    By(requester): By,
    Body(_): Body<LogoutRequest>,
) -> ApiResult<Created<Done>> {
    identity.logout(requester.caller()).await?;
    Ok(Created(Done::YES))
}

/// The caller, read fresh from the database.
#[utoipa::path(
    get, path = "/api/auth/me", tag = TAG,
    responses((status = 200, description = "The caller", body = AuthUser), faults::OwnAccount),
)]
pub async fn me(State(identity): State<Identity>, Auth(principal): Auth) -> ApiResult<Json<AuthUser>> {
    let account = identity.account(&principal.user_id).await?;
    Ok(Json(account.into()))
}

/// Change the caller's own password.
///
/// Revokes all of the caller's refresh tokens.
#[utoipa::path(
    post, path = "/api/auth/change-password", tag = TAG,
    request_body = Body<ChangePasswordRequest>,
    responses((status = 201, description = "Changed", body = Done), faults::ChangePassword),
)]
pub async fn change_password(
    State(identity): State<Identity>,
    By(requester): By,
    Body(request): Body<ChangePasswordRequest>,
) -> ApiResult<Created<Done>> {
    let ChangePasswordRequest {
        current_password,
        new_password,
    } = request;
    identity
        .change_password(
            requester.caller(),
            &current_password,
            &new_password,
            "auth.change_password",
        )
        .await?;
    Ok(Created(Done::YES))
}
