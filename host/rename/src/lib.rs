//! Names of media files: presets, the plan of a rename as a preview, where each value of a name comes from, and the renames
//! themselves, with their undo and history.
//!
//! The rules of names are in `qm_rename_plan`, which is pure. This area stores presets and settings, and collects what a plan
//! needs: files below the roots, torrents, the shows of a library, each through a port or through `qm_confined`.
//!
//! A run does steps: looked at, noted in a journal, done by `qm_file_operations`, settled. After a crash the steps between are
//! finished or taken back, as the disk shows it; then the run is over, and can be undone. What moved is told as moves of files,
//! which the library follows.
//!
//! Invariants: a preview changes nothing, neither files nor rows; a change commits with its audit row; templates are read before
//! they are stored; a file that changed since it was planned stays; nothing is overwritten, and a file is never gone from both
//! of its places; in a library one run is at work; no transaction is open while files move; what a torrent still uses is not
//! deleted.
//! Bounds: 100 stored presets; 1,000 names, or 20,000 files, a preview; plans that are kept: see `service::plans`; 32 steps between
//! two transactions; runs are forgotten after a year. Walks, plans, looks and moves have lanes of their own.
//!
//! The library is helped to name what downloads, scans and orders bring (`service::help`), and rules of automation name files
//! (`service::actions`): both for a person, whose present permissions are judged as those of a caller are.
//!
//! Events: none. Actions of automation: `media_rename`, `media_move`, `rename_for_media`.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod ops;
mod repo;
mod routes;
mod service;
mod settings;
#[cfg(test)]
mod testing;

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
