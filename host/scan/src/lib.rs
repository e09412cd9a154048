//! Libraries, and the index of what lies in them on the disk.
//!
//! A *library* is a directory inside the roots of the file manager. A *scan*, which is a job, walks it through handles that
//! follow no link, compares what it sees with what it saw before, directory by directory, and writes what is different: an
//! *item* a film or an episode with its files, a *show* a folder right below the library's directory that holds episodes.
//! Invariants: a scan costs a directory that did not change a stat, and a file that did not change no write; what is no longer
//! there is removed only where the scan could see that: not where a directory could not be read, nor where a file system is
//! gone (`model::doubt`), nor where nothing at all was found; a scan that was cut off goes on with what it has not stored yet.
//! What others move takes its item along, with what people said of it, and the folder of a show its show (`service::moves`): told
//! by durable events, done before a scan looks and before it removes anything. What somebody renames beside the service is known
//! again by what went and came within one scan (`model::renames`), so that the item stays.
//! What people have had forgotten is passed over (`service::ignored`). A library that wants it is *watched*: what changes in a
//! directory has it scanned soon, and not the rest.
//!
//! Own state: two locks. The turn of whoever scans may be held while the turn of whoever moves items is taken, never the other way
//! round. The watches keep their state behind a lock of their own (`service::watch`), under which nothing is awaited.
//!
//! Bounds: directories 128 deep, paths 2,500 bytes below the library's directory; 256 files, or moved items, a transaction; 150
//! words on how far a scan is; 30,000 watched directories a library, 25 directories a scan of what changed; 512 KiB of a
//! `tvshow.nfo`.

mod dto;
mod model;
mod ops;
pub mod repo;
mod routes;
mod service;

pub use routes::routes;
pub use service::{
    FILE_EVENTS, FILE_KEYS, Reason, ScanRequest, Scanned, Scanner, ScannerDeps, below, refused, scan_asked,
};
