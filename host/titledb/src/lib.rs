//! Titledb: titles from IMDb's free data sets (tab-separated, gzip), imported and searched locally.
//!
//! A *store* holds what was imported: on SQLite a file of its own beside the database, on PostgreSQL a schema of its own (ADR
//! 38). An import, which is a job, loads the next store in batches and puts it into the place of the one before when all is in:
//! what searches read is always complete. How far it is stands in the store, in the transaction of each batch, so an import that
//! was stopped or killed goes on behind the last one while files and settings are the same.
//! Names are found by any part of them, those of titles with most votes first, by lists of which names have which runs of three
//! letters (ADR 49).
//! Invariants: one import at a time; nothing is sent anywhere unless an update was asked for, by hand or by the settings; of a
//! row that makes no sense nothing is kept but its count, and the first ten as examples.
//! Deliberately absent: rows that are changed in place (an update is a store of its own), and the API of modes `official_api` and
//! `hybrid`, whose answers nobody has described: those modes find what the data set has.
//!
//! Bounds: those of `lanes`; a line of 1 MiB, 64 GiB that a file expands to, batches of 10,000 rows or 4 MiB, three of them at a time; 32 MiB of ids; files as large as the
//! settings say; 120 names of each way to search, 10,000 names that are looked at for them.
//!
//! Events: none. Realtime, to who may see titles (`media_manager.titledb.view`): `titledb.dataset.validate.started`,
//! `.completed`; `titledb.dataset.download.started`, `.progress`, `.completed`, `.failed`; `titledb.dataset.import.progress`, `.completed`,
//! `.failed`, `.cancelled`.

#![expect(
    clippy::struct_field_names,
    reason = "columns of the data sets are called as they are there"
)]

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
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use area::AREA;
use routes::routes;
