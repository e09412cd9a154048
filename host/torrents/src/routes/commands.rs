//! `/api/torrents/{hash}/…` and `/bulk`: what users ask of torrents that exist.

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_kernel::engine::Command;
use qm_web::{ApiResult, Auth, Body, Client, Created, Json, Params, Path};

use super::{App, caller};
use crate::dto::engines::EngineQuery;
use crate::dto::requests::{
    BulkBody, BulkView, Done, FilePriorityBody, LimitBody, MoveBody, RemoveDataQuery, RenameBody, TrackerBody,
};
use crate::service::{BulkAction, Torrents};

/// Does one action to many torrents. One that fails stops no other.
#[utoipa::path(
    post,
    path = "/api/torrents/bulk",
    tag = "torrents",
    request_body = BulkBody,
    responses((status = 201, body = BulkView))
)]
pub async fn bulk(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<BulkBody>,
) -> ApiResult<Created<BulkView>> {
    let engine_id = body.engine_id.as_deref();
    let outcome = app
        .bulk(caller(&auth, &client), engine_id, body.action, &body.hashes)
        .await?;
    let with_library = body.action == BulkAction::RemoveData && body.remove_library;
    Ok(Created(BulkView {
        succeeded: outcome.succeeded,
        failed: outcome.failed,
        library_items_removed: with_library.then_some(0),
    }))
}

/// A request about one torrent.
struct Asked<'a> {
    app: &'a Torrents,
    auth: &'a Auth,
    client: &'a Client,
    engine_id: Option<&'a str>,
    hash: &'a str,
}

impl Asked<'_> {
    async fn run(self, permission: P, command: Command) -> ApiResult<Done> {
        let caller = caller(self.auth, self.client);
        self.app
            .command(caller, self.engine_id, self.hash, permission, command)
            .await?;
        Ok(Done::new())
    }
}

/// Handlers of POST routes without a body; the engine is named in the query.
macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $permission:expr, $command:expr;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post,
            path = $path,
            tag = "torrents",
            params(("hash" = String, Path), ("engineId" = Option<String>, Query)),
            responses((status = 201, body = Done))
        )]
        pub async fn $name(
            State(app): App,
            auth: Auth,
            client: Client,
            Path(hash): Path<String>,
            Params(query): Params<EngineQuery>,
        ) -> ApiResult<Created<Done>> {
            let engine_id = query.engine_id.as_deref();
            let asked = Asked { app: &app, auth: &auth, client: &client, engine_id, hash: &hash };
            asked.run($permission, $command).await.map(Created)
        }
    )+};
}

actions! {
    /// Starts a torrent.
    start_torrent, "/api/torrents/{hash}/start", P::TorrentsStart, Command::Start;
    /// Stops a torrent.
    stop_torrent, "/api/torrents/{hash}/stop", P::TorrentsStop, Command::Stop;
    /// Pauses a torrent.
    pause_torrent, "/api/torrents/{hash}/pause", P::TorrentsPause, Command::Pause;
    /// Resumes a torrent.
    resume_torrent, "/api/torrents/{hash}/resume", P::TorrentsResume, Command::Resume;
    /// Verifies a torrent's data on disk.
    recheck_torrent, "/api/torrents/{hash}/recheck", P::TorrentsRecheck, Command::Recheck;
}

/// Handlers of POST routes with a body, which also names the engine.
macro_rules! orders {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $permission:expr, $body:ident: $type:ty => $command:expr;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post,
            path = $path,
            tag = "torrents",
            params(("hash" = String, Path)),
            request_body = $type,
            responses((status = 201, body = Done))
        )]
        pub async fn $name(
            State(app): App,
            auth: Auth,
            client: Client,
            Path(hash): Path<String>,
            Body($body): Body<$type>,
        ) -> ApiResult<Created<Done>> {
            let engine_id = $body.engine_id.as_deref();
            let asked = Asked { app: &app, auth: &auth, client: &client, engine_id, hash: &hash };
            asked.run($permission, $command).await.map(Created)
        }
    )+};
}

orders! {
    /// Limits a torrent's upload rate.
    limit_upload, "/api/torrents/{hash}/limits/upload", P::TorrentsManageLimits,
        body: LimitBody => Command::UploadLimit(body.bytes_per_sec);
    /// Limits a torrent's download rate.
    limit_download, "/api/torrents/{hash}/limits/download", P::TorrentsManageLimits,
        body: LimitBody => Command::DownloadLimit(body.bytes_per_sec);
    /// Sets how urgently a file is wanted.
    set_file_priority, "/api/torrents/{hash}/files/priority", P::TorrentsManageFiles,
        body: FilePriorityBody => Command::FilePriority { index: body.file_index, priority: body.priority };
    /// Adds a tracker.
    add_tracker, "/api/torrents/{hash}/trackers", P::TorrentsManageTrackers,
        body: TrackerBody => Command::AddTracker { url: body.url.clone() };
    /// Renames a torrent, where the engine can.
    rename_torrent, "/api/torrents/{hash}/rename", P::TorrentsRename,
        body: RenameBody => Command::Rename { name: body.name.clone() };
}

/// Changes where a torrent is saved. Whether its data moves depends on the engine.
#[utoipa::path(
    post,
    path = "/api/torrents/{hash}/move",
    tag = "torrents",
    params(("hash" = String, Path)),
    request_body = MoveBody,
    responses((status = 201, body = Done))
)]
pub async fn move_torrent(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(hash): Path<String>,
    Body(body): Body<MoveBody>,
) -> ApiResult<Created<Done>> {
    app.relocate(
        caller(&auth, &client),
        body.engine_id.as_deref(),
        &hash,
        &body.destination,
    )
    .await?;
    Ok(Created(Done::new()))
}

/// Removes a tracker.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}/trackers",
    tag = "torrents",
    params(("hash" = String, Path), ("engineId" = Option<String>, Query)),
    request_body = TrackerBody,
    responses((status = 200, body = Done))
)]
pub async fn remove_tracker(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
    Body(body): Body<TrackerBody>,
) -> ApiResult<Json<Done>> {
    let engine_id = query.engine_id.as_deref().or(body.engine_id.as_deref());
    let asked = Asked {
        app: &app,
        auth: &auth,
        client: &client,
        engine_id,
        hash: &hash,
    };
    asked
        .run(
            P::TorrentsManageTrackers,
            Command::RemoveTracker {
                url: body.url.clone(),
            },
        )
        .await
        .map(Json)
}

/// Removes a torrent; its data stays.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}",
    tag = "torrents",
    params(("hash" = String, Path), ("engineId" = Option<String>, Query)),
    responses((status = 200, body = Done))
)]
pub async fn delete_torrent(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<Done>> {
    let engine_id = query.engine_id.as_deref();
    let asked = Asked {
        app: &app,
        auth: &auth,
        client: &client,
        engine_id,
        hash: &hash,
    };
    asked
        .run(P::TorrentsDelete, Command::Remove { with_data: false })
        .await
        .map(Json)
}

/// Removes a torrent with its data.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}/data",
    tag = "torrents",
    params(
        ("hash" = String, Path),
        ("engineId" = Option<String>, Query),
        ("removeLibrary" = Option<String>, Query, description = "`1` or `true`: also what was imported from it."),
    ),
    responses((status = 200, body = Done))
)]
pub async fn delete_torrent_data(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(hash): Path<String>,
    Params(query): Params<RemoveDataQuery>,
) -> ApiResult<Json<Done>> {
    let engine_id = query.engine_id.as_deref();
    let asked = Asked {
        app: &app,
        auth: &auth,
        client: &client,
        engine_id,
        hash: &hash,
    };
    let done = asked
        .run(P::TorrentsDeleteData, Command::Remove { with_data: true })
        .await?;
    Ok(Json(Done {
        library_items_removed: query.remove_library.then_some(0),
        ..done
    }))
}
