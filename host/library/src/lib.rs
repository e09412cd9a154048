//! The media library: what lies on the disk below the directories that people name, and what it is.
//!
//! A *library* is a directory inside the roots of the file manager. A *scan*, which is a job, walks it through handles that
//! follow no link, compares what it sees with what it saw before, directory by directory, and writes what is different: an
//! *item* a video file, a *show* a folder right below the library's directory that holds episodes.
//! Invariants: a scan costs a directory that did not change a stat, and a file that did not change no write; what is no longer
//! there is removed only where the scan could see that: not where a directory could not be read, nor where a file system is
//! gone (`model::doubt`), nor where nothing at all was found; a scan that was cut off goes on with what it has not stored yet.
//! A library that wants it is *watched*: what changes in a directory has it scanned soon, and not the rest.
//! Deliberately absent so far: metadata, artwork, subtitles, NFO files, duplicates, the renaming of files.
//!
//! Bounds: directories 128 deep, paths 2,500 bytes below the library's directory; 256 files a transaction; 150 words on how
//! far a scan is; 30,000 watched directories a library, 25 directories a scan of what changed.
//!
//! Events: none. An action of automation: `media_scan_library`. Realtime: `media_manager.job.*`, by the jobs.

mod area;
mod dto;
mod error;
mod model;
mod ops;
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::{AREA, area};
pub use error::LibraryError;
pub use routes::routes;
pub use service::{Library, LibraryDeps, NoTriggers, Outside, Pace, Triggers};
