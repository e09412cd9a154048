//! Transfer history: what engines and their torrents moved, by five minutes, hours and days.
//!
//! A loop looks at the lists in memory every five seconds and asks no client; what it counted is written when five minutes are over.
//!
//! Invariants: what an engine moved is the sum of what its torrents moved; the counts of an hour and of a day are the sums of those
//! of their five minutes; a crash neither loses nor doubles a byte; a counter that falls or leaps counts for nothing.
//! Bounds: counts of five minutes are kept for two days, of hours for 60 days, of days for five years, and a million rows of each; a
//! torrent has a row for those steps in which it moved something.
//!
//! Own state: one lock, that of the counts which are still to be written, held while they are; no request needs it.
//!
//! Events: none.

mod area;
mod dto;
mod error;
mod model;
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
