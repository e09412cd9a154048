//! Routes of the identity and the metadata of items and shows: parse, call the service, shape.

mod edit;
mod faults;
mod metadata;
mod repair;
mod shows;
mod titles;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Identification;

type App = axum::extract::State<Arc<Identification>>;

/// Routes of this crate, without their state.
pub fn routes() -> Routes<Arc<Identification>> {
    Routes::new()
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
        .add(routes!(shows::refresh_show_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_show_identity).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_show_metadata).need(P::MediaManagerEditMetadata))
        .add(routes!(shows::update_season).need(P::MediaManagerEditMetadata))
}
