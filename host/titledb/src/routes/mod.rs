//! `/api/media/providers/titledb`.

mod dataset;
mod faults;
#[cfg(test)]
mod tests;
mod titles;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Titledb;

type App = State<Arc<Titledb>>;

/// Searches per client address and minute.
const SEARCHES: u32 = 30;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Titledb>> {
    let (view, configure) = (P::MediaManagerTitledbView, P::MediaManagerTitledbConfigure);
    let import = P::MediaManagerTitledbImportDataset;
    Routes::new()
        .add(routes!(titles::show_titledb_status).need(view))
        .add(routes!(titles::show_titledb_settings).need(view))
        .add(routes!(titles::change_titledb_settings).need(configure))
        .add(routes!(titles::test_titledb).need(configure))
        .add(routes!(dataset::validate_dataset).need(import))
        .add(routes!(dataset::import_dataset).need(import))
        .add(routes!(dataset::stop_import).need(import))
        .add(routes!(dataset::update_dataset).need(import))
        .add(routes!(dataset::reset_dataset).need(import))
        .add(routes!(dataset::list_imports).need(view))
        .add(
            routes!(titles::search_titles)
                .need(P::MediaManagerTitledbSearch)
                .limit(SEARCHES),
        )
        .add(routes!(titles::show_title).need(view))
}
