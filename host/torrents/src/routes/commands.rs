//! `/api/torrents/{hash}/…`: what users ask of torrents that exist.

use qm_engines::dto::engines::EngineQuery;
use qm_kernel::Permission as P;
use qm_ports::engine::Command;
use qm_web::{ApiResult, Body, Created, Json, Params};

use super::change::Asked;
use super::faults;
use crate::dto::requests::{
    Done, FilePriorityBody, LimitBody, MoveBody, MoveDone, RemoveDataQuery, RenameBody, TrackerBody,
};

/// Handlers of POST routes without a body; the engine is named in the query.
macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $permission:expr, $command:expr;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post,
            path = $path,
            tag = "torrents",
            params(("hash" = String, Path), Params::<EngineQuery>),
            responses((status = 201, body = Done), faults::OfTorrent)
        )]
        pub async fn $name(asked: Asked, Params(query): Params<EngineQuery>) -> ApiResult<Created<Done>> {
            asked.run(query.engine_id, $permission, $command).await.map(Created)
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
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $permission:expr, $faults:ident, $body:ident: $type:ty => $command:expr;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post,
            path = $path,
            tag = "torrents",
            params(("hash" = String, Path)),
            request_body = Body<$type>,
            responses((status = 201, body = Done), faults::$faults)
        )]
        pub async fn $name(asked: Asked, Body($body): Body<$type>) -> ApiResult<Created<Done>> {
            asked.run($body.engine_id, $permission, $command).await.map(Created)
        }
    )+};
}

orders! {
    /// Limits a torrent's upload rate.
    limit_upload, "/api/torrents/{hash}/limits/upload", P::TorrentsManageLimits, OfTorrent,
        body: LimitBody => Command::UploadLimit(body.bytes_per_sec);
    /// Limits a torrent's download rate.
    limit_download, "/api/torrents/{hash}/limits/download", P::TorrentsManageLimits, OfTorrent,
        body: LimitBody => Command::DownloadLimit(body.bytes_per_sec);
    /// Sets how urgently a file is wanted.
    set_file_priority, "/api/torrents/{hash}/files/priority", P::TorrentsManageFiles, OfFile,
        body: FilePriorityBody => Command::FilePriority { indexes: vec![body.file_index], priority: body.priority };
    /// Adds a tracker.
    add_tracker, "/api/torrents/{hash}/trackers", P::TorrentsManageTrackers, OfTracker,
        body: TrackerBody => Command::AddTracker { url: body.url };
    /// Renames a torrent, where the engine can.
    rename_torrent, "/api/torrents/{hash}/rename", P::TorrentsRename, OfTorrent,
        body: RenameBody => Command::Rename { name: body.name };
}

/// Moves a torrent with its data. Where its client does not do that, the server moves the data, if it lies in the allowed
/// storage roots and nothing is in the way: otherwise it refuses, and nothing has changed.
#[utoipa::path(
    post,
    path = "/api/torrents/{hash}/move",
    tag = "torrents",
    params(("hash" = String, Path)),
    request_body = Body<MoveBody>,
    responses((status = 201, body = MoveDone), faults::Relocate)
)]
pub async fn move_torrent(asked: Asked, Body(body): Body<MoveBody>) -> ApiResult<Created<MoveDone>> {
    asked
        .relocate(body.engine_id, body.destination)
        .await
        .map(Created)
}

/// Removes a tracker.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}/trackers",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    request_body = Body<TrackerBody>,
    responses((status = 200, body = Done), faults::OfTracker)
)]
pub async fn remove_tracker(
    asked: Asked,
    Params(query): Params<EngineQuery>,
    Body(body): Body<TrackerBody>,
) -> ApiResult<Json<Done>> {
    let engine_id = query.engine_id.or(body.engine_id);
    let command = Command::RemoveTracker { url: body.url };
    asked
        .run(engine_id, P::TorrentsManageTrackers, command)
        .await
        .map(Json)
}

/// Removes a torrent; its data stays.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = Done), faults::OfTorrent)
)]
pub async fn delete_torrent(asked: Asked, Params(query): Params<EngineQuery>) -> ApiResult<Json<Done>> {
    let command = Command::Remove { with_data: false };
    asked
        .run(query.engine_id, P::TorrentsDelete, command)
        .await
        .map(Json)
}

/// Removes a torrent with its data. Data that another torrent uses, on whichever engine, is not removed: 409
/// `conflict.shared_data` names those, and with `keepShared` the torrent goes and all of its data stays.
#[utoipa::path(
    delete,
    path = "/api/torrents/{hash}/data",
    tag = "torrents",
    params(
        ("hash" = String, Path),
        ("removeLibrary" = Option<bool>, Query, description = "`1` or `true`: also what was imported from it."),
        ("keepShared" = Option<bool>, Query, description = "`1` or `true`: data that other torrents use is kept, instead of the \
            removal being refused."),
        Params::<RemoveDataQuery>,
    ),
    responses((status = 200, body = Done), faults::RemoveData)
)]
pub async fn delete_torrent_data(
    asked: Asked,
    Params(query): Params<RemoveDataQuery>,
) -> ApiResult<Json<Done>> {
    let done = asked.remove_data(query.engine_id, query.keep_shared).await?;
    Ok(Json(Done {
        library_items_removed: query.remove_library.then_some(0),
        ..done
    }))
}
