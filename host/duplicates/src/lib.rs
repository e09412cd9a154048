//! Duplicates in media libraries: detection, groups, and plans that clean them up.
//!
//! A detection is a job. It reads all items once through the port of the library, forms groups (`qm_duplicate_groups`), and
//! writes those whose content changed. A plan is stored before anything is deleted, with the state of each file as it was
//! shown. Carrying it out puts files into the trash of the file manager, by its port, and nothing is removed for good.
//!
//! Invariants: the version of a group grows exactly when its content changes; a plan of another version is refused; before
//! each file goes, the files that stay are seen to be there as the plan knows them, and the caller is judged again; a row of
//! the journal is committed before its step. One plan is carried out at a time, so that no two of them delete each other's
//! keepers. A plan that a crash cut off is settled by the next start, by what is on the disk.
//! Bounds: 500 members a group, 50 of them in lists; 5 plans of a group wait; plans are kept for 180 days, those never
//! carried out for 7.
//! Deliberately absent: folders of shows that are there twice, which are the area of `qm-show-folders`.
//!
//! Events: none of the bus. Realtime: `media_manager.duplicates.scan.*`, `media_manager.duplicates.resolution.*`.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
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
