//! `/api/categories` and `/api/tags`

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::taxonomy::{
    CategoryChange, CategoryView, ListedCategoryView, ListedTagView, NewCategory, NewTag, TagView,
};

/// Lists the categories by name: those of the server, and those that torrents and clients have beside them, at most 10,000, each with
/// where it lives. Lists of clients that do not answer within 3 s are those that they told last.
#[utoipa::path(get, path = "/api/categories", tag = "taxonomy", responses((status = 200, body = Vec<ListedCategoryView>)))]
pub async fn list_categories(State(app): App) -> ApiResult<Json<Vec<ListedCategoryView>>> {
    let listed = app.listed_categories().await?;
    Ok(Json(listed.into_iter().map(ListedCategoryView::from).collect()))
}

/// Creates a category.
#[utoipa::path(
    post,
    path = "/api/categories",
    tag = "taxonomy",
    request_body = Body<NewCategory>,
    responses((status = 201, body = CategoryView), faults::CreateCategory)
)]
pub async fn create_category(
    State(app): App,
    By(by): By,
    Body(body): Body<NewCategory>,
) -> ApiResult<Created<CategoryView>> {
    let row = app.create_category(by.caller(), body).await?;
    Ok(Created(row.into()))
}

/// Changes the color or the directory of a category. Its name is that of labels in clients, and stays. Clients' own categories get the
/// directory when the category is set for a torrent with `autoManage` the next time.
#[utoipa::path(
    patch,
    path = "/api/categories/{id}",
    tag = "taxonomy",
    params(("id" = String, Path)),
    request_body = Body<CategoryChange>,
    responses((status = 200, body = CategoryView), faults::ChangeCategory)
)]
pub async fn change_category(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<CategoryChange>,
) -> ApiResult<Json<CategoryView>> {
    let row = app.change_category(by.caller(), &id, body).await?;
    Ok(Json(row.into()))
}

/// Deletes a category. Torrents that carry its name keep it.
#[utoipa::path(
    delete,
    path = "/api/categories/{id}",
    tag = "taxonomy",
    params(("id" = String, Path)),
    responses((status = 200, body = CategoryView), faults::DeleteCategory)
)]
pub async fn delete_category(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
) -> ApiResult<Json<CategoryView>> {
    let row = app.delete_category(by.caller(), &id).await?;
    Ok(Json(row.into()))
}

/// Lists the tags by name: those of the server, and those that torrents and clients have beside them, as the categories.
#[utoipa::path(get, path = "/api/tags", tag = "taxonomy", responses((status = 200, body = Vec<ListedTagView>)))]
pub async fn list_tags(State(app): App) -> ApiResult<Json<Vec<ListedTagView>>> {
    let listed = app.listed_tags().await?;
    Ok(Json(listed.into_iter().map(ListedTagView::from).collect()))
}

/// Creates a tag.
#[utoipa::path(
    post,
    path = "/api/tags",
    tag = "taxonomy",
    request_body = Body<NewTag>,
    responses((status = 201, body = TagView), faults::CreateTag)
)]
pub async fn create_tag(
    State(app): App,
    By(by): By,
    Body(body): Body<NewTag>,
) -> ApiResult<Created<TagView>> {
    let row = app.create_tag(by.caller(), body).await?;
    Ok(Created(row.into()))
}

/// Deletes a tag. Torrents that carry it keep it.
#[utoipa::path(
    delete,
    path = "/api/tags/{id}",
    tag = "taxonomy",
    params(("id" = String, Path)),
    responses((status = 200, body = TagView), faults::DeleteTag)
)]
pub async fn delete_tag(State(app): App, By(by): By, Path(id): Path<String>) -> ApiResult<Json<TagView>> {
    let row = app.delete_tag(by.caller(), &id).await?;
    Ok(Json(row.into()))
}
