//! `/api/torrents/{hash}/…`: commands for one torrent.

use axum::extract::State;
use qm_engines::dto::engines::EngineQuery;
use qm_kernel::Requester;
use qm_web::{ApiResult, Body, By, Created, Params, Path};

use super::{App, faults};
use crate::dto::{
    BanPeersBody, CategoryBody, Done, DownloadPathBody, EnabledBody, PriorityBody, QueueBody, RenameFileBody,
    RenameFolderBody, ReplaceTrackerBody, TagsBody,
};
use crate::error::CommandsError;
use crate::model::act::Order;
use crate::model::kinds::KINDS;
use crate::model::kinds::Kind;
use crate::model::params::{Fault, Params as Given};

/// Does an order to the torrent of a request, whose query or body names the engine.
async fn run(
    State(app): App,
    by: &Requester,
    hash: &str,
    engine_id: Option<String>,
    order: Result<Order, Fault>,
) -> ApiResult<Created<Done>> {
    let order = order.map_err(CommandsError::from)?;
    app.do_one(Some(by.caller()), engine_id.as_deref(), hash, &order)
        .await?;
    Ok(Created(Done { success: true }))
}

/// Handlers of POST routes with a body. The query may name the engine too, and goes first.
macro_rules! orders {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $faults:ident, $body:ident: $type:ty => $order:expr;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post,
            path = $path,
            tag = "torrents",
            params(("hash" = String, Path), Params::<EngineQuery>),
            request_body = Body<$type>,
            responses((status = 201, body = Done), faults::$faults)
        )]
        pub async fn $name(
            app: App,
            By(by): By,
            Path(hash): Path<String>,
            Params(query): Params<EngineQuery>,
            Body(mut $body): Body<$type>,
        ) -> ApiResult<Created<Done>> {
            let engine_id = query.engine_id.or($body.engine_id.take());
            run(app, &by, &hash, engine_id, $order).await
        }
    )+};
}

orders! {
    /// Sets the category of a torrent, and makes it in the client where the client has categories.
    set_category, "/api/torrents/{hash}/category", OfCategory, body: CategoryBody => body.order();
    /// Adds tags to a torrent and takes tags away, or sets all that it has. Tags of a client without tags are kept by the service.
    change_tags, "/api/torrents/{hash}/tags", OfTags, body: TagsBody => body.order();
    /// Starts a torrent whatever the limits of the client's queue say, or ends that.
    force_start, "/api/torrents/{hash}/force-start", OfTorrent, body: EnabledBody => body.order("forceStart");
    /// Changes the place of a torrent in the queue of its client.
    change_queue, "/api/torrents/{hash}/queue", OfQueue, body: QueueBody => body.order();
    /// Sets the priority of a torrent. A client that has a queue instead moves it to an end of that.
    set_priority, "/api/torrents/{hash}/priority", OfTorrent, body: PriorityBody => body.order();
    /// Downloads the pieces of a torrent in their order, or in any.
    set_sequential, "/api/torrents/{hash}/sequential", OfSequential, body: EnabledBody => body.order("sequential");
    /// Downloads the first and last pieces of each file first, or not.
    set_first_last_piece, "/api/torrents/{hash}/first-last-piece", OfFirstLast, body: EnabledBody => body.order("firstLastPiece");
    /// Seeds each piece once to the peers that pass it on, or as usual.
    set_super_seeding, "/api/torrents/{hash}/super-seeding", OfSuperSeeding, body: EnabledBody => body.order("superSeeding");
    /// Lets the client choose the paths of a torrent by its category, or not.
    set_auto_manage, "/api/torrents/{hash}/auto-manage", OfAutoManage, body: EnabledBody => body.order("autoManage");
    /// Sets the directory of a torrent's data while it is incomplete. The directory of complete data is changed by a move.
    set_download_path, "/api/torrents/{hash}/download-path", OfDownloadPath, body: DownloadPathBody => body.order();
    /// Renames a file of a torrent, on the disk too. Files whose data other torrents use keep their names: 409 `conflict.shared_data`.
    rename_file, "/api/torrents/{hash}/files/rename", OfFile, body: RenameFileBody => body.order();
    /// Renames a folder of a torrent, on the disk too. Files whose data other torrents use keep their names: 409 `conflict.shared_data`.
    rename_folder, "/api/torrents/{hash}/folders/rename", OfFolder, body: RenameFolderBody => body.order();
    /// Replaces a tracker of a torrent.
    replace_tracker, "/api/torrents/{hash}/trackers/replace", OfTracker, body: ReplaceTrackerBody => body.order();
    /// Bans peers, in the whole client.
    ban_peers, "/api/torrents/{hash}/peers/ban", OfPeers, body: BanPeersBody => body.order();
}

/// Announces a torrent to its trackers now.
#[utoipa::path(
    post,
    path = "/api/torrents/{hash}/reannounce",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 201, body = Done), faults::OfReannounce)
)]
pub async fn reannounce(
    app: App,
    By(by): By,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Created<Done>> {
    let kind = Kind::from_name("reannounce").unwrap_or(&KINDS[0]);
    run(app, &by, &hash, query.engine_id, kind.order(&Given::default())).await
}
