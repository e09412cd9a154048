//! The routes of engines and torrents: parse, call the service, shape.

mod change;
mod commands;
mod dashboard;
mod engines;
mod faults;
mod sources;
mod taxonomy;
#[cfg(test)]
mod tests;
mod torrents;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Torrents;

/// A .torrent file of 20 MiB with its fields, in bytes.
const MAX_UPLOAD: usize = 25 * 1024 * 1024;

type App = axum::extract::State<Arc<Torrents>>;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Torrents>> {
    Routes::new()
        .add(routes!(engines::list_engines).need(P::SystemView))
        .add(routes!(engines::engine_kinds).need(P::SystemView))
        .add(routes!(engines::engine_health).need(P::SystemView))
        .add(routes!(engines::test_engine).need(P::EnginesManage))
        .add(routes!(engines::create_engine).need(P::EnginesManage))
        .add(routes!(engines::update_engine).need(P::EnginesManage))
        .add(routes!(engines::delete_engine).need(P::EnginesManage))
        .add(routes!(engines::check_paths).need(P::EnginesManage))
        .add(routes!(torrents::list_torrents).need(P::TorrentsView))
        .add(routes!(torrents::get_torrent).need(P::TorrentsView))
        .add(routes!(torrents::matched_rule).need(P::TorrentsView))
        .add(routes!(torrents::list_files).need(P::TorrentsView))
        .add(routes!(torrents::list_peers).need(P::TorrentsView))
        .add(routes!(torrents::list_trackers).need(P::TorrentsView))
        .add(routes!(torrents::imported_items).need(P::TorrentsView))
        .add(routes!(sources::add_torrent).need(P::TorrentsAdd))
        .add(
            routes!(sources::upload_torrent)
                .need(P::TorrentsAdd)
                .body(MAX_UPLOAD),
        )
        .add(routes!(commands::start_torrent).need(P::TorrentsStart))
        .add(routes!(commands::stop_torrent).need(P::TorrentsStop))
        .add(routes!(commands::pause_torrent).need(P::TorrentsPause))
        .add(routes!(commands::resume_torrent).need(P::TorrentsResume))
        .add(routes!(commands::recheck_torrent).need(P::TorrentsRecheck))
        .add(routes!(commands::delete_torrent).need(P::TorrentsDelete))
        .add(routes!(commands::delete_torrent_data).need(P::TorrentsDeleteData))
        .add(routes!(commands::move_torrent).need(P::TorrentsMove))
        .add(routes!(commands::limit_upload).need(P::TorrentsManageLimits))
        .add(routes!(commands::limit_download).need(P::TorrentsManageLimits))
        .add(routes!(commands::set_file_priority).need(P::TorrentsManageFiles))
        .add(routes!(commands::add_tracker, commands::remove_tracker).need(P::TorrentsManageTrackers))
        .add(routes!(commands::rename_torrent).need(P::TorrentsRename))
        .add(routes!(dashboard::dashboard_summary).need(P::TorrentsView))
        .add(routes!(dashboard::dashboard_activity).need(P::TorrentsView))
        .add(routes!(dashboard::search_torrents).need(P::TorrentsView))
        .add(routes!(taxonomy::list_categories).need(P::TorrentsView))
        .add(routes!(taxonomy::create_category).need(P::CategoriesManage))
        .add(routes!(taxonomy::change_category).need(P::CategoriesManage))
        .add(routes!(taxonomy::delete_category).need(P::CategoriesManage))
        .add(routes!(taxonomy::list_tags).need(P::TorrentsView))
        .add(routes!(taxonomy::create_tag).need(P::TagsManage))
        .add(routes!(taxonomy::delete_tag).need(P::TagsManage))
}
