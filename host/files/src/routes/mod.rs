//! The routes of the file manager: parse, call the service, shape.

mod browse;
mod change;
mod faults;
mod media;
mod operations;
mod review;
#[cfg(test)]
mod tests;
mod trash;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use qm_kernel::Permission as P;
use qm_web::{ApiError, Auth, HungUp, Routes, routes};

use crate::dto::requests::{BulkOperation, TorrentAction};
use crate::service::{Files, Looker};

type App = axum::extract::State<Arc<Files>>;

const TAG: &str = "files";

/// The paths of everything in a large folder, in bytes.
const MANY_PATHS: usize = 8 * 1024 * 1024;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Files>> {
    Routes::new()
        .add(routes!(browse::list_files).need(P::FilesView))
        .add(routes!(browse::get_root).need(P::FilesView))
        .add(routes!(browse::set_root).need(P::SettingsManageRootPath))
        .add(routes!(browse::file_properties).need(P::FilesView))
        .add(routes!(browse::preview_file).need(P::FilesPreview))
        .add(routes!(browse::inspect_path).need(P::FilesView))
        .add(routes!(browse::ensure_directory).need(P::FilesCreateFolder))
        .add(routes!(media::media_ticket).need(P::FilesPreview))
        // A player sends no bearer token: the ticket in the query is the credential.
        .add(routes!(media::stream_file).ticketed("ticket").unlimited())
        .add(routes!(media::download_file).need(P::FilesDownload))
        .add(routes!(change::create_folder).need(P::FilesCreateFolder))
        .add(routes!(change::rename_file).need(P::FilesRename))
        .add(routes!(change::move_file).need(P::FilesMove))
        .add(routes!(change::copy_file).need(P::FilesCopy))
        .add(
            routes!(change::delete_file)
                .need(P::FilesDelete)
                .needs_by("torrentAction", TorrentAction::permissions()),
        )
        .add(
            routes!(change::bulk_files)
                .need(P::FilesBulkActions)
                .body(MANY_PATHS)
                .needs_by("operation", BulkOperation::permissions())
                .needs_by("torrentAction", TorrentAction::permissions()),
        )
        .add(routes!(review::delete_preview).need(P::FilesDelete))
        .add(routes!(review::bulk_delete_preview).need(P::FilesDelete).body(MANY_PATHS))
        .add(routes!(review::find_conflicts).need(P::FilesView))
        .add(routes!(review::resolve_conflicts).need_all(&[P::FilesMove, P::FilesCopy, P::FilesDelete]))
        .add(routes!(review::cleanup_preview).need(P::FilesCleanup))
        .add(routes!(review::cleanup_execute).need(P::FilesCleanup).body(MANY_PATHS))
        .add(routes!(trash::list_trash).need(P::FilesView))
        .add(routes!(trash::restore_trash).need(P::FilesDelete))
        .add(routes!(trash::purge_trash).need(P::FilesDelete))
        .add(routes!(trash::empty_trash).need(P::FilesDelete))
        .add(routes!(operations::list_operations).need(P::FilesView))
        .add(routes!(operations::cancel_operation).need(P::FilesView))
}

impl<S: Sync> FromRequestParts<S> for Looker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Looker {
            auth: Auth::from_request_parts(parts, state).await?,
            hung_up: HungUp::from_request_parts(parts, state).await?,
        })
    }
}
