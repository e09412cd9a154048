//! The routes of the media library: parse, call the service, shape.

mod bulk;
mod faults;
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
        .merge(qm_scan::routes().described())
}

/// Routes of this area with those of its rooms.
pub fn all(library: &Arc<Library>) -> Routes {
    let catalogue = qm_catalogue::routes().with_state(library.catalogue.clone());
    let identify = qm_identify::routes().with_state(library.identify.clone());
    routes()
        .with_state(library.clone())
        .merge(catalogue)
        .merge(identify)
        .merge(qm_scan::routes().with_state(library.scanner.clone()))
}

fn routes() -> Routes<Arc<Library>> {
    Routes::new()
        .add(routes!(bulk::lock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::unlock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::fetch_items_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::remove_items).need(P::MediaManagerDelete))
        .add(routes!(bulk::preview_delete_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::delete_item_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::move_items).need(P::MediaManagerMoveFiles))
}
