//! The media library: what lies on the disk below the directories that people name, and what it is.
//!
//! A *library* is a directory inside the roots of the file manager. A *scan*, which is a job, walks it through handles that
//! follow no link, compares what it sees with what it saw before, directory by directory, and writes what is different: an
//! *item* a film or an episode with its files, a *show* a folder right below the library's directory that holds episodes.
//! Invariants: a scan costs a directory that did not change a stat, and a file that did not change no write; what is no longer
//! there is removed only where the scan could see that: not where a directory could not be read, nor where a file system is
//! gone (`model::doubt`), nor where nothing at all was found; a scan that was cut off goes on with what it has not stored yet.
//! What others move takes its item along, with what people said of it, and the folder of a show its show (`service::moves`): told
//! by durable events, done before a scan looks and before it removes anything.
//! Files of one film or episode are versions of one item, or its parts (`qm_media_names::naming::member`); trailers and the like are *extras* of a film or a show and no
//! items. What somebody renames beside the service is known again by what went and came within one scan (`model::renames`), so that the item stays. What
//! people have had forgotten is passed over (`service::ignored`).
//! A library that wants it is *watched*: what changes in a directory has it scanned soon, and not the rest.
//! What its name says it is, an imported data set of titles has an id for (`service::titles`).
//! What a file holds is told by its name until a tool has looked into it (`qm_probe`), a few files every five minutes.
//! What an item is about is asked of providers (`qm_ports::metadata`) when somebody wants it, of one or of many (`service::fetch`), and for what
//! scans and downloads bring (`service::enrich`). It is stored with who said each field: what people said stays, an answer to what is no longer
//! so is dropped, and who is silent takes nothing away (`service::metadata`). The data set adds its rating (`service::cross`).
//! A `tvshow.nfo` says which series a folder holds (`qm_media_names::nfo`).
//! Lists of many items are made in memory, as long as stamps in the database say that nothing has changed (`service::shelf`).
//! Deliberately absent so far: artwork, subtitles, other NFO files, duplicates, the renaming of files.
//!
//! Bounds: those of `lanes`; directories 128 deep, paths 2,500 bytes below the library's directory; 256 files, or moved items, a transaction; 150 words on how
//! far a scan is; 30,000 watched directories a library, 25 directories a scan of what changed; 200 items, and two minutes, that providers are
//! asked about with a scan; 512 KiB of a `tvshow.nfo`.
//!
//! A download that is whole is followed by a job of its own (`service::download`): scan, identify, metadata, refresh of media servers.
//!
//! Events: `media_server.refresh_failed`. Actions of automation: `media_scan_library`, `media_match`,
//! `media_fetch_metadata`. Realtime: `media_manager.job.*`, by the jobs; `titledb.match.completed`, `titledb.enrichment.completed`.

mod area;
mod dto;
mod events;
mod ops;
#[cfg(test)]
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::{AREA, area};
pub use events::EVENTS;
pub use qm_media::LibraryError;
pub use qm_media::service::{NoTriggers, Pace, Triggers};
pub use qm_probe::Prober;
pub use service::{Library, LibraryDeps, Outside};
