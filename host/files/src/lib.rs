//! The file manager: browses and changes the download folders, confined to their roots.
//!
//! Invariants: no path in a request leads out of the roots, even if links are put in its way meanwhile ([`qm_confined`]); a
//! change leaves the old state or the new one; after a crash each file is at its old place, at its new one, or in the trash
//! with a record; the file that is streamed is the file that was checked; every operation is a job before it begins.
//! Work on the disk is in [`qm_file_operations`], the way of contents to players and previews in [`qm_file_contents`].
//! Deliberately absent: archives of folders to download, and a lock against torrents that are being seeded (the delete
//! previews name them).
//!
//! Events: `file.moved`, `file.deleted`. Realtime, to everybody who may see files: `files.operation.started`, `.progress`,
//! `.completed`, `.failed`, `files.cleanup.completed`, `files.trash.updated`.

mod area;
mod dto;
mod error;
mod model;
mod repo;
mod routes;
mod service;
mod settings;

pub use area::AREA;
use routes::routes;
use service::{EVENTS, FilesDeps};
pub use service::{Files, StreamConfig};
