//! Saved views of the torrent list: a name, a filter, an order and columns. Each user has their own.
//!
//! Invariants: nobody sees or changes a view of another user; a change commits with its audit row.
//! Bounds: 100 views a user, 60 columns a view, a filter like that of the list.
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
