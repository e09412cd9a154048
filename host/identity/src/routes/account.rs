//! `/api/account`: the caller's own profile, password and second factor.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json};

use super::faults;
use crate::dto::Done;
use crate::dto::account::{
    CodeRequest, PasswordRequest, ProfileView, RecoveryCodes, TwoFactorSetup, TwoFactorView, UpdateProfile,
};
use crate::dto::auth::ChangePasswordRequest;
use crate::service::Identity;

const TAG: &str = "account";

/// The caller's own profile.
#[utoipa::path(
    get, path = "/api/account/profile", tag = TAG,
    responses((status = 200, description = "The profile", body = ProfileView), faults::OwnAccount),
)]
pub async fn profile(State(identity): State<Identity>, By(requester): By) -> ApiResult<Json<ProfileView>> {
    let profile = identity.profile(requester.caller()).await?;
    Ok(Json(profile.into()))
}

/// Changes the caller's own profile.
///
/// A time zone is an IANA name such as `Europe/Berlin`; offsets such as `GMT+2` are refused, for they know no summer.
#[utoipa::path(
    patch, path = "/api/account/profile", tag = TAG,
    request_body = Body<UpdateProfile>,
    responses((status = 200, description = "The profile as it is now", body = ProfileView), faults::ChangeProfile),
)]
pub async fn update_profile(
    State(identity): State<Identity>,
    By(requester): By,
    Body(body): Body<UpdateProfile>,
) -> ApiResult<Json<ProfileView>> {
    let profile = identity.update_profile(requester.caller(), body.into()).await?;
    Ok(Json(profile.into()))
}

/// Changes the caller's own password.
///
/// Revokes all of the caller's refresh tokens.
#[utoipa::path(
    post, path = "/api/account/password", tag = TAG,
    request_body = Body<ChangePasswordRequest>,
    responses((status = 201, description = "Changed", body = Done), faults::ChangePassword),
)]
pub async fn password(
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
            "account.password_changed",
        )
        .await?;
    Ok(Created(Done::YES))
}

/// State of the caller's second factor.
#[utoipa::path(
    get, path = "/api/account/2fa", tag = TAG,
    responses((status = 200, description = "On or off", body = TwoFactorView), faults::OwnAccount),
)]
pub async fn two_factor(
    State(identity): State<Identity>,
    By(requester): By,
) -> ApiResult<Json<TwoFactorView>> {
    let enabled = identity.two_factor_enabled(requester.caller()).await?;
    Ok(Json(TwoFactorView { enabled }))
}

/// Makes a secret for an authenticator.
///
/// The second factor stays off until a code of that secret is given to `POST /api/account/2fa/enable`.
#[utoipa::path(
    post, path = "/api/account/2fa/setup", tag = TAG,
    responses((status = 201, description = "What the authenticator needs", body = TwoFactorSetup), faults::SetUpTwoFactor),
)]
pub async fn setup(
    State(identity): State<Identity>,
    By(requester): By,
) -> ApiResult<Created<TwoFactorSetup>> {
    let setup = identity.setup_two_factor(requester.caller()).await?;
    Ok(Created(setup.into()))
}

/// Switches the second factor on.
///
/// Answers ten recovery codes; they are shown here and never again.
#[utoipa::path(
    post, path = "/api/account/2fa/enable", tag = TAG,
    request_body = Body<CodeRequest>,
    responses((status = 201, description = "It is on", body = RecoveryCodes), faults::EnableTwoFactor),
)]
pub async fn enable(
    State(identity): State<Identity>,
    By(requester): By,
    Body(request): Body<CodeRequest>,
) -> ApiResult<Created<RecoveryCodes>> {
    let codes = identity
        .enable_two_factor(requester.caller(), request.code.expose())
        .await?;
    Ok(Created(codes.into()))
}

/// Switches the second factor off, confirmed with the password.
///
/// Forgets the secret and all recovery codes.
#[utoipa::path(
    post, path = "/api/account/2fa/disable", tag = TAG,
    request_body = Body<PasswordRequest>,
    responses((status = 201, description = "It is off", body = Done), faults::DisableTwoFactor),
)]
pub async fn disable(
    State(identity): State<Identity>,
    By(requester): By,
    Body(request): Body<PasswordRequest>,
) -> ApiResult<Created<Done>> {
    identity
        .disable_two_factor(requester.caller(), &request.password)
        .await?;
    Ok(Created(Done::YES))
}

/// Replaces all recovery codes, confirmed with a current code of the authenticator.
#[utoipa::path(
    post, path = "/api/account/2fa/recovery", tag = TAG,
    request_body = Body<CodeRequest>,
    responses((status = 201, description = "The new codes; the old ones no longer work", body = RecoveryCodes), faults::RenewRecoveryCodes),
)]
pub async fn recovery(
    State(identity): State<Identity>,
    By(requester): By,
    Body(request): Body<CodeRequest>,
) -> ApiResult<Created<RecoveryCodes>> {
    let codes = identity
        .renew_recovery_codes(requester.caller(), request.code.expose())
        .await?;
    Ok(Created(codes.into()))
}
