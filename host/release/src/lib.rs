//! Release names: what a file or a torrent is called, read as title, episode, year, quality and group.
//!
//! Pure; no I/O. Never fails: what is not recognised is absent.
