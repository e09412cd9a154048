//! `/api/users`: users and the roles they can have.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::faults;
use crate::dto::IdView;
use crate::dto::users::{CreateUser, RoleView, UpdateUser, UserPage, UserQuery, UserView};
use crate::service::Identity;

const TAG: &str = "users";

/// Lists users, oldest first.
#[utoipa::path(
    get, path = "/api/users", tag = TAG,
    params(
        ("page" = Option<u64>, Query, minimum = 1, description = "From 1."),
        ("pageSize" = Option<u64>, Query, minimum = 1, maximum = 200, description = "50 unless said; at most 200."),
        Params::<UserQuery>,
    ),
    responses((status = 200, description = "A page of users", body = UserPage)),
)]
pub async fn list_users(
    State(identity): State<Identity>,
    Params(UserQuery(query)): Params<UserQuery>,
) -> ApiResult<Json<UserPage>> {
    Ok(Json(UserPage::new(identity.users(query).await?, query)))
}

/// Lists the roles by name, each with its permissions. They cannot be changed.
#[utoipa::path(
    get, path = "/api/users/roles", tag = TAG,
    responses((status = 200, description = "The roles", body = Vec<RoleView>)),
)]
pub async fn list_roles(State(identity): State<Identity>) -> ApiResult<Json<Vec<RoleView>>> {
    let roles = identity.roles().await?;
    Ok(Json(roles.into_iter().map(RoleView::from).collect()))
}

/// Creates a user.
///
/// Only a `SUPER_ADMIN` grants that role.
#[utoipa::path(
    post, path = "/api/users", tag = TAG,
    request_body = Body<CreateUser>,
    responses((status = 201, description = "The user", body = UserView), faults::CreateUser),
)]
pub async fn create_user(
    State(identity): State<Identity>,
    By(requester): By,
    Body(body): Body<CreateUser>,
) -> ApiResult<Created<UserView>> {
    let user = identity.add_user(requester.caller(), body.into()).await?;
    Ok(Created(user.into()))
}

/// Changes a user; passwords are changed by their owners.
///
/// Only a `SUPER_ADMIN` changes another one or grants that role; nobody changes their own roles; the last active
/// `SUPER_ADMIN` stays one.
#[utoipa::path(
    patch, path = "/api/users/{id}", tag = TAG,
    params(("id" = String, Path)),
    request_body = Body<UpdateUser>,
    responses((status = 200, description = "The user as it is now", body = UserView), faults::UpdateUser),
)]
pub async fn update_user(
    State(identity): State<Identity>,
    By(requester): By,
    Path(id): Path<String>,
    Body(body): Body<UpdateUser>,
) -> ApiResult<Json<UserView>> {
    let user = identity.update_user(requester.caller(), &id, body.into()).await?;
    Ok(Json(user.into()))
}

/// Deletes a user with everything of theirs; the audit trail stays.
#[utoipa::path(
    delete, path = "/api/users/{id}", tag = TAG,
    params(("id" = String, Path)),
    responses((status = 200, description = "Deleted", body = IdView), faults::DeleteUser),
)]
pub async fn delete_user(
    State(identity): State<Identity>,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<IdView>> {
    identity.delete_user(requester.caller(), &id).await?;
    Ok(Json(IdView { id }))
}
