//! The routes of commands: parse, call the service, shape.

mod bulk;
mod commands;
mod faults;
mod look;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::model::kinds::KINDS;
use crate::service::TorrentCommands;

/// Bytes of a bulk: 10,000 torrents with their engines.
const MAX_BULK: usize = 4 * 1024 * 1024;

type App = axum::extract::State<Arc<TorrentCommands>>;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<TorrentCommands>> {
    let by_action = || KINDS.iter().map(|kind| (kind.name, kind.permission));
    Routes::new()
        .add(
            routes!(bulk::bulk)
                .need(P::TorrentsView)
                .body(MAX_BULK)
                .needs_by("action", by_action()),
        )
        .add(routes!(bulk::show_bulk).need(P::TorrentsView))
        .add(routes!(bulk::replace_tracker_host).need(P::TorrentsManageTrackers))
        .add(routes!(commands::set_category).need(P::TorrentsMove))
        .add(routes!(commands::change_tags).need(P::TorrentsRename))
        .add(routes!(commands::reannounce).need(P::TorrentsManageTrackers))
        .add(routes!(commands::force_start).need(P::TorrentsStart))
        .add(routes!(commands::change_queue).need(P::TorrentsManageLimits))
        .add(routes!(commands::set_priority).need(P::TorrentsManageLimits))
        .add(routes!(commands::set_sequential).need(P::TorrentsManageFiles))
        .add(routes!(commands::set_first_last_piece).need(P::TorrentsManageFiles))
        .add(routes!(commands::set_super_seeding).need(P::TorrentsManageLimits))
        .add(routes!(commands::set_auto_manage).need(P::TorrentsMove))
        .add(routes!(commands::set_download_path).need(P::TorrentsMove))
        .add(routes!(commands::rename_file).need(P::TorrentsManageFiles))
        .add(routes!(commands::rename_folder).need(P::TorrentsManageFiles))
        .add(routes!(commands::replace_tracker).need(P::TorrentsManageTrackers))
        .add(routes!(commands::ban_peers).need(P::TorrentsManageLimits))
        .add(routes!(look::export_torrent).need(P::TorrentsManageTrackers))
        .add(routes!(look::check_location).need(P::TorrentsRecheck))
}
