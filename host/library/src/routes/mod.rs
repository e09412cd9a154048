//! The routes of the media library: parse, call the service, shape.

mod bulk;
mod faults;
mod ignored;
mod jobs;
mod libraries;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Library;

type App = axum::extract::State<Arc<Library>>;

/// Routes of this area with those of its rooms, for the document.
pub fn described() -> Routes {
    routes()
        .described()
        .merge(qm_catalogue::routes().described())
        .merge(qm_identify::routes().described())
}

/// Routes of this area with those of its rooms.
pub fn all(library: &Arc<Library>) -> Routes {
    let catalogue = qm_catalogue::routes().with_state(library.catalogue.clone());
    let identify = qm_identify::routes().with_state(library.identify.clone());
    routes()
        .with_state(library.clone())
        .merge(catalogue)
        .merge(identify)
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
        .add(routes!(libraries::library_consistency).need(P::MediaManagerView))
        .add(routes!(bulk::lock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::unlock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::fetch_items_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::remove_items).need(P::MediaManagerDelete))
        .add(routes!(bulk::preview_delete_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::delete_item_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::move_items).need(P::MediaManagerMoveFiles))
}
