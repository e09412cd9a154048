//! Names of media files: presets, the plan of a rename as a preview, and where each value of a name comes from.
//!
//! The rules of names are in `qm_rename_plan`, which is pure. This area stores presets and settings, and collects what a plan
//! needs: files below the roots, torrents, the shows of a library, each through a port or through `qm_confined`.
//!
//! Invariants: a preview changes nothing, neither files nor rows; a change commits with its audit row; templates are read before
//! they are stored.
//! Bounds: 100 stored presets; 1,000 names, or 20,000 files, a preview. Walks and plans have lanes of their own.
//!
//! Events: none.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;
mod settings;

pub use area::AREA;
use routes::routes;

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
