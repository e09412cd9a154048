//! Torrents created from files in the roots: a wish, the job that hashes, the finished file, and the engine that seeds it.
//!
//! A wish is checked and stored with its job in one transaction. The job looks again at what its user may do, before
//! it reads, every minute, and before an engine gets the torrent. It opens the path
//! through `qm_confined`, and has [`qm_torrent_maker`] read the files in its lane, on behalf of the user. After a crash it
//! begins again, because hashes of files that may have changed are worth nothing; a file that is made is never made twice.
//! A torrent that is to be seeded is handed to its engine through [`SeedIntake`](qm_ports::seed::SeedIntake), with the
//! directory that holds its content.
//!
//! Invariants: nobody sees or deletes a torrent that another user created; deleting one never touches its content, nor the
//! torrent of an engine. Addresses of trackers contain keys: they stand in the wish until the job ends and in the finished
//! file, as they must, and in no list, log, audit row or answer but that file. A path has the meaning that it had when it
//! was sent, or the job fails. A torrent that no engine took is kept.
//! Bounds: [`MAX_ACTIVE`](model::MAX_ACTIVE) torrents of a user at work or waiting, [`KEPT`](model::KEPT) finished ones for
//! [`KEPT_FOR`](model::KEPT_FOR), each of `qm_metainfo::MAX_TORRENT_BYTES` at most; [`AT_ONCE`](service::AT_ONCE) jobs.
//!
//! Events: none; jobs tell their progress.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;

pub use area::AREA;
use routes::routes;
