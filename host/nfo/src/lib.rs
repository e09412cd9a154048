//! Notes (NFO) beside films and episodes, as Kodi and Jellyfin read them, and what others wrote into such.
//!
//! A note is made of what the library knows of an item. What somebody else wrote is not replaced unless that is asked for, and
//! then elements that are not known here, or for which there is no value, stay as they stand (`model::keep`). A note that was
//! written here and not changed since is written anew.
//!
//! Wherever a scan saw a change, the notes there are read, those of shows too, and the library fills with their facts what nobody
//! else said (`service::take`). Ids in notes are read by the scan itself.
//!
//! Invariants: paths are walked by `qm_confined`; a note is written beside its place and renamed into it, so that a hard link
//! elsewhere keeps its content; the hash of a note is stored before it is written; a note that a torrent holds is not replaced; a
//! file that is no plain XML is not replaced at all; whoever gave an order is judged again before each note.
//! Bounds: 1,000 items an order, 10,000 notes a request, 512 KiB a note that is read.
//!
//! The library has notes about downloads written (`service::help`), for the person who set it up.
//!
//! Events: none. Action of automation: `media_generate_nfo`.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod ops;
mod repo;
mod routes;
mod service;

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
