//! Routes of lists: parse, call the service, shape.

mod faults;
mod items;
mod series;
mod shows;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Catalogue;

type App = axum::extract::State<Arc<Catalogue>>;

/// Routes of this crate, without their state.
pub fn routes() -> Routes<Arc<Catalogue>> {
    Routes::new()
        .add(routes!(items::item_alphabet).need(P::MediaManagerView))
        .add(routes!(items::list_items).need(P::MediaManagerView))
        .add(routes!(items::item_issues).need(P::MediaManagerView))
        .add(routes!(items::get_item).need(P::MediaManagerView))
        .add(routes!(items::export_items).need(P::MediaManagerExport))
        .add(routes!(series::list_series).need(P::MediaManagerView))
        .add(routes!(series::series_episodes).need(P::MediaManagerView))
        .add(routes!(series::series_health).need(P::MediaManagerView))
        .add(routes!(series::show_by_key).need(P::MediaManagerView))
        .add(routes!(shows::list_shows).need(P::MediaManagerView))
        .add(routes!(shows::get_show).need(P::MediaManagerView))
}
