//! Routes of orders about many items: parse, call the service, shape.

mod bulk;
mod faults;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Orders;

type App = axum::extract::State<Arc<Orders>>;

/// Routes of this crate, without their state.
pub fn routes() -> Routes<Arc<Orders>> {
    Routes::new()
        .add(routes!(bulk::lock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::unlock_items).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::fetch_items_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(bulk::remove_items).need(P::MediaManagerDelete))
        .add(routes!(bulk::preview_delete_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::delete_item_files).need(P::MediaManagerDeleteFiles))
        .add(routes!(bulk::move_items).need(P::MediaManagerMoveFiles))
}
