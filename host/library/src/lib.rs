//! The media library as one area, made of several crates: the files below the directories that people name, and their
//! identities.
//!
//! `qm_scan` keeps libraries and the index of their disks, `qm_probe` probes files, `qm_identify` identifies items and keeps
//! the source of each value, `qm_catalogue` lists them, `qm_orders` carries out orders about them. All read and write the
//! rows of `qm_media`, and read names by `qm_media_names`. A crate uses only those of lower tiers; this one makes them,
//! merges their routes, runs their loops and passes them events. Tests of several crates together are here.
//!
//! Files of one film or episode are versions of one item, or its parts (`qm_media_names::naming::member`); trailers and the like are
//! *extras* of a film or a show and no items. A `tvshow.nfo` says which series a folder holds (`qm_media_names::nfo`).
//! Pictures and subtitles are in `qm_artwork`, notes that are written in `qm_nfo`, duplicates in `qm_duplicates` and `qm_show_folders`, new names in `qm_rename`: areas of
//! their own, which meet the library through ports.
//!
//! Realtime: `media_manager.job.*`, by the jobs; `titledb.match.completed`, `titledb.enrichment.completed`.

mod area;
#[cfg(test)]
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
