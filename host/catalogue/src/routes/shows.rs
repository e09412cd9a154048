//! `/api/media/shows`

use axum::extract::State;
use qm_media::dto::beside::PictureView;
use qm_media::dto::items::ExtraView;
use qm_media::dto::shows::{ShowMetadataView, ShowView};
use qm_web::{ApiResult, Json, Params, Path};

use super::{App, faults};
use crate::dto::series::{ShowPage, ShowsQuery};
use crate::dto::shows::{SeasonDetailView, ShowDetailView};

/// A page of shows. A search looks for a part of the title, in any case and without marks of letters.
#[utoipa::path(
    get, path = "/api/media/shows", tag = "media", params(Params::<ShowsQuery>),
    responses((status = 200, body = ShowPage))
)]
pub async fn list_shows(State(app): App, Params(query): Params<ShowsQuery>) -> ApiResult<Json<ShowPage>> {
    let page = query.page;
    let (shows, total) = app.shows(&query.into(), page).await?;
    Ok(Json(ShowPage {
        items: shows.into_iter().map(ShowView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// A show with all that is known of it.
#[utoipa::path(
    get, path = "/api/media/shows/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = ShowDetailView), faults::Show)
)]
pub async fn get_show(State(app): App, Path(id): Path<String>) -> ApiResult<Json<ShowDetailView>> {
    let (show, path) = app.show(&id).await?;
    let details = app.show_details(&id).await?;
    let extras = app.show_extras(&show).await?.into_iter();
    let extras: Vec<ExtraView> = extras.map(|extra| ExtraView::new(extra, &path)).collect();
    let seasons = details.seasons.into_iter();
    let seasons = seasons
        .map(|season| SeasonDetailView::new(season, &extras))
        .collect();
    let artwork = PictureView::list(app.show_artwork(&id).await?, &path);
    Ok(Json(ShowDetailView {
        show: (show, path).into(),
        metadata: details.metadata.map(ShowMetadataView::from),
        seasons,
        extras,
        artwork,
        suggestions: details.suggestions.into_iter().map(Into::into).collect(),
    }))
}
