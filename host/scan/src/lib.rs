//! Libraries, and the index of the files on their disks.
//!
//! A *library* is a directory inside the roots of the file manager. A *scan*, which is a job, walks it through handles that
//! follow no link, compares it with the index, directory by directory, and stores the differences: an *item* is a film or an
//! episode with its files, a *show* a folder right below the library's directory that holds episodes.
//!
//! Invariants: an unchanged directory costs a scan one `stat`, and an unchanged file no write. A missing file is removed
//! from the index only if the scan could be sure: not if a directory could not be read, nor if a file system is gone
//! (`model::doubt`), nor if nothing at all was found. A scan that was cut off goes on with the part that is not stored yet.
//! A file that another area moves takes its item along, with the values of people, and the folder of a show takes its show
//! (`service::moves`): durable events report it, and a scan applies them before it looks and before it removes anything. A
//! file that is renamed outside of the service is recognised within one scan (`model::renames`), so that the item stays.
//! A scan that a person asked for has loose episodes put in order, if the library is set to do so (`service::order`).
//! Ignored places are skipped (`service::ignored`). A library can be *watched*: a change in a directory has only that
//! directory scanned soon.
//!
//! Own state: two locks. The lock of a scan may be held while the lock of moves is taken, never the other way round. The
//! watches keep their state behind a lock of their own (`service::watch`), under which nothing is awaited.
//!
//! Bounds: directories 128 deep, paths 2,500 bytes below the library's directory; 256 files, or moved items, a transaction;
//! 150 progress reports a scan; 30,000 watched directories a library, 25 directories a scan of changes; 512 KiB of a
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
