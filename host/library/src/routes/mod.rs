//! The routes of the media library: parse, call the service, shape.

mod bulk;
mod edit;
mod faults;
mod ignored;
mod jobs;
mod libraries;
mod metadata;
mod repair;
mod shows;
#[cfg(test)]
mod tests;
mod titles;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Library;

type App = axum::extract::State<Arc<Library>>;

/// Routes of this area with those of its rooms, for the document.
pub fn described() -> Routes {
    routes().described().merge(qm_catalogue::routes().described())
}

/// Routes of this area with those of its rooms.
pub fn all(library: &Arc<Library>) -> Routes {
    let catalogue = qm_catalogue::routes().with_state(library.catalogue.clone());
    routes().with_state(library.clone()).merge(catalogue)
}

fn routes() -> Routes<Arc<Library>> {
    Routes::new()
        .add(routes!(libraries::media_dashboard).need(P::MediaManagerView))
        .add(routes!(libraries::media_health).need(P::MediaManagerView))
        .add(routes!(libraries::list_libraries).need(P::MediaManagerView))
        .add(routes!(libraries::get_library).need(P::MediaManagerView))
        .add(routes!(libraries::create_library).need(P::MediaManagerManageLibraries))
        .add(routes!(libraries::update_library).need(P::MediaManagerManageLibraries))
        .add(routes!(libraries::delete_library).need(P::MediaManagerManageLibraries))
        .add(routes!(libraries::scan_library).need(P::MediaManagerScan))
        .add(routes!(ignored::list_ignored).need(P::MediaManagerView))
        .add(routes!(ignored::ignore_path).need(P::MediaManagerDelete))
        .add(routes!(ignored::heed_path).need(P::MediaManagerDelete))
        .add(routes!(libraries::watch_status).need(P::MediaManagerView))
        .add(routes!(jobs::cancel_media_job).need(P::MediaManagerScan))
        .add(routes!(edit::update_item).need(P::MediaManagerEditMetadata))
        .add(routes!(edit::match_item).need(P::MediaManagerMatch))
        .add(routes!(edit::unmatch_item).need(P::MediaManagerMatch))
        .add(routes!(titles::reidentify_items).need(P::MediaManagerMatch))
        .add(routes!(titles::match_item_titledb).need(P::MediaManagerTitledbMatch))
        .add(routes!(repair::preview_movie_identity).need(P::MediaManagerView))
        .add(routes!(repair::apply_movie_identity).need(P::MediaManagerManageLibraries))
        .add(routes!(edit::lock_item).need(P::MediaManagerEditMetadata))
        .add(routes!(edit::unlock_item).need(P::MediaManagerEditMetadata))
        .add(routes!(metadata::fetch_item_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(metadata::update_item_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(libraries::library_consistency).need(P::MediaManagerView))
        .add(routes!(shows::refresh_show_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_show_identity).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_show_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_season).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::lock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::unlock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::fetch_items_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::remove_items).need(P::MediaManagerDelete))
        .add(routes!(bulk::preview_delete_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::delete_item_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::move_items).need(P::MediaManagerMoveFiles))
}
