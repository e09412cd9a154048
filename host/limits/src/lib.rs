//! Limits on sharing, per torrent, category and engine, and limits of speed, per engine.
//!
//! *Sharing.* A user sets a ratio, a seeding time, an inactive seeding time and an action on a torrent, a category or an engine.
//! Each field in force is that of the most specific of them which sets it. Every 2 s a pass judges what changed in the list of an
//! engine, and what the clock has brought to its limit, which a queue knows. A torrent that has reached a limit is acted on once:
//! an entry of the ledger is stored before, and the action is done by the functions that people use, by the powers of those who
//! set the limit and the action, as they are now. The host judges for all clients, so that the answers are the same.
//!
//! *Speed.* An engine has normal and alternative limits, a time table between them, and a mode that a user chose. A client is told
//! when something changes, when it comes back, and when it lost what it was told, which is looked for once a minute.
//!
//! Invariants: what is unknown reaches no limit; nobody's limits do what their author may not; a torrent is acted on once for the
//! same limits; a change commits with its audit row.
//! Bounds: 50 actions a pass and engine; 50 entries of a time table; an engine is passed over by one task at a time.
//!
//! Own state: layers and speeds, swapped whole, each with a lock for the one that reads them anew; for each engine the state of its
//! passes, and what its client was told, behind locks that are held while a client is asked, and that nobody waits for. Order of locks:
//! an engine, then the layers.
//!
//! Events: `torrent.limit_reached`, `torrent.limit_failed`.

mod area;
mod dto;
mod error;
mod model;
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
use service::{Limits, LimitsDeps};

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
