//! Parking of dead torrents.
//!
//! A torrent that wants data and that nobody shares takes a place in its client's queue, and asks its trackers in vain. By rules
//! that are switched off at first, a sweep pauses such torrents every five minutes; they are *parked*. From time to time each is
//! force-started for one interval, a *probe*: if somebody shares it by then it runs as before, otherwise it rests again, for twice
//! as long as before. A parked torrent carries a mark in lists and realtime messages.
//!
//! Invariants: a row is stored before a client pauses or starts a torrent, so that a process that ends in between leaves nothing
//! paused that nobody knows of; a torrent whose data is being moved is left alone; one that a person starts is parked no longer,
//! and its age counts anew; a client that does not answer loses no row; a torrent that its client does not list is forgotten after
//! ten minutes only. Parking is the server's own work by its rules, as the retention of the trash is: it removes nothing and
//! adds nothing.
//! Bounds: one sweep at a time; 1000 torrents that a pass parks on an engine, and as many probes as the rules say, 1000 at most;
//! commands of 200 torrents.
//!
//! Own state: parked torrents in memory, swapped whole for each engine behind one lock, which is held for no longer than it takes to
//! look up; a turn a loaded engine, held while its client is asked; one lock of those who read rows anew. Order of locks: a
//! turn, then the reading, then the book.
//!
//! Events: none. Realtime: `torrents.parking.updated`.

mod area;
mod dto;
mod error;
mod model;
mod repo;
mod routes;
mod service;
mod settings;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
use service::{ParkingDeps, ParkingLot};

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
