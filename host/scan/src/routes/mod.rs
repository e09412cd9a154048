//! Routes of libraries, their scans and what is ignored: parse, call the service, shape.

mod faults;
mod ignored;
mod jobs;
mod libraries;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Scanner;

type App = axum::extract::State<Arc<Scanner>>;

/// Routes of this crate, without their state.
pub fn routes() -> Routes<Arc<Scanner>> {
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
}
