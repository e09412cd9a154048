//! `/api/torrents`: what is known of torrents.

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use qm_engines::dto::engines::EngineQuery;
use qm_kernel::{ErrorKind, Timestamp};
use qm_torrent_lists::{TorrentPage, TorrentView, etag_of};
use qm_web::{ApiError, ApiResult, Auth, Body, Created, Json, Params, Path, Prepared};

use super::{App, faults};
use crate::dto::requests::{
    FileView, ImportedItem, ImportedItemsBody, ListParams, MatchedRule, PeerView, TrackerView,
};

/// When the engine last confirmed what the answer shows.
const SNAPSHOT_AT: HeaderName = HeaderName::from_static("x-snapshot-at");

/// A body rendered before, as an answer.
fn prepared(body: Bytes, etag: &str, at: Timestamp) -> ApiResult<Prepared> {
    let header = |text: &str| {
        HeaderValue::from_str(text).map_err(|error| {
            ApiError::new(ErrorKind::Internal, "a header cannot be written").with_source(error)
        })
    };
    let headers = vec![(SNAPSHOT_AT, header(&at.to_string())?)];
    Ok(Prepared {
        body,
        etag: header(etag)?,
        headers,
    })
}

/// Lists torrents from the engine's last snapshot, fresh within 2 s; `X-Snapshot-At` says when it was confirmed.
#[utoipa::path(
    get,
    path = "/api/torrents",
    tag = "torrents",
    params(
        ("engineId" = Option<String>, Query, description = "Absent: the default engine; `all`: every engine."),
        ("state" = Option<String>, Query, description = "Exact state."),
        ("category" = Option<String>, Query, description = "Exact label."),
        ("tag" = Option<String>, Query, description = "Exact tag."),
        ("search" = Option<String>, Query, description = "Part of the name or of the hash, in any case."),
        ("filter" = Option<String>, Query, description = "Conditions that all have to hold: a JSON array like that of a rule, \
            `[{\"field\":\"ratio\",\"op\":\"gt\",\"value\":2}]`; 20 at most, in 8 KiB. In place of a condition, and of the array, may \
            stand a group: `{\"any\":[…]}`, of which one has to hold, or `{\"all\":[…]}`; up to 5 inside each other. Besides the fields of a torrent \
            there are `addedDaysAgo`, `completedDaysAgo` and `activeDaysAgo`."),
        ("sortBy" = Option<String>, Query, description = "A field of the torrent; default `addedAt`."),
        ("sortDir" = Option<String>, Query, description = "`asc`, or anything else for descending."),
        ("page" = Option<u64>, Query, description = "From 1."),
        ("pageSize" = Option<u64>, Query, description = "At most 500, default 50."),
        Params::<ListParams>,
    ),
    responses((status = 200, body = TorrentPage, headers(("X-Snapshot-At" = String))), faults::List)
)]
pub async fn list_torrents(State(app): App, Params(params): Params<ListParams>) -> ApiResult<Prepared> {
    let listed = app.list(&params.engines, params.query).await?;
    prepared(listed.page.body, &listed.page.etag, listed.at)
}

/// One torrent, from the engine's last snapshot, with the film or episode that it was grabbed for.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = TorrentView, headers(("X-Snapshot-At" = String))), faults::OfTorrent)
)]
pub async fn get_torrent(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Prepared> {
    let found = app.find(query.engine_id.as_deref(), &hash).await?;
    let taken = app.find_purpose(&found.entry).await;
    let body = match &taken {
        Some(taken) => found.entry.shown_taken(found.stale, taken),
        None => found.entry.shown(found.stale),
    };
    let etag = etag_of(&body);
    prepared(body, &etag, found.at)
}

/// The rule that chose a torrent; null when none did.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}/matched-rule",
    tag = "torrents",
    params(("hash" = String, Path)),
    responses((status = 200, body = Option<MatchedRule>))
)]
pub async fn matched_rule(Path(_hash): Path<String>) -> Json<Option<MatchedRule>> {
    Json(None)
}

/// The files of a torrent, asked of the client.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}/files",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = Vec<FileView>), faults::OfTorrent)
)]
pub async fn list_files(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<Vec<FileView>>> {
    let files = app.files(query.engine_id.as_deref(), &hash).await?;
    Ok(Json(files.into_iter().map(FileView::from).collect()))
}

/// The peers of a torrent, asked of the client.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}/peers",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = Vec<PeerView>), faults::OfTorrent)
)]
pub async fn list_peers(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<Vec<PeerView>>> {
    let peers = app.peers(query.engine_id.as_deref(), &hash).await?;
    Ok(Json(peers.into_iter().map(PeerView::from).collect()))
}

/// The trackers of a torrent, asked of the client. Without `torrents.manage_trackers` keys in their addresses are masked.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}/trackers",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = Vec<TrackerView>), faults::OfTorrent)
)]
pub async fn list_trackers(
    State(app): App,
    Auth(principal): Auth,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<Vec<TrackerView>>> {
    let trackers = app.trackers(query.engine_id.as_deref(), &hash).await?;
    let shown = trackers
        .into_iter()
        .map(|tracker| TrackerView::seen_by(tracker, &principal));
    Ok(Json(shown.collect()))
}

/// Library items that came from these torrents; empty where nothing is known.
#[utoipa::path(
    post,
    path = "/api/torrents/imported-items",
    tag = "torrents",
    request_body = Body<ImportedItemsBody>,
    responses((status = 201, body = Vec<ImportedItem>))
)]
pub async fn imported_items(Body(_body): Body<ImportedItemsBody>) -> Created<Vec<ImportedItem>> {
    Created(Vec::new())
}
