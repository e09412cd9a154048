//! Folders of one show that are there twice: families of them, plans that put them together, and merges.
//!
//! A family is found among the shows of one library by their names and ids. A plan says which files move into the folder that
//! stays, which of two files of one episode stays, which subtitles are rescued, and which folders go. It is stored with the
//! state of each file before anything is done. A merge carries a plan out, step by step.
//!
//! Invariants: nothing is removed but into the trash, and nothing is replaced; before each step the caller is judged again, the
//! file is the one that was shown, no torrent uses it that was not told of, and what stays in its place is there; a row of the
//! journal is committed before its step; a folder goes only when no video, no subtitle and nothing unread is left in it. One
//! merge runs at a time. A merge that a crash cut off is settled by the next start, by what is on the disk, and goes on where
//! it was when it is asked for again. The disk is only read here, below the storage roots; the file manager changes it.
//! Bounds: 50 folders a merge; 10,000 files in them; 16 merges that run or wait; 100 families an answer, and no further one
//! beyond 1,000 folders; 5 plans of a show wait for one user; plans are kept for 180 days, those never carried out for 7.
//! Lanes: `lanes`.
//! Deliberately absent: watchlists, of which this service has none.
//!
//! Events: none.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod ops;
mod repo;
mod routes;
mod service;
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
