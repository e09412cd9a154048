//! Whole-server tests: real HTTP, real WebSocket, real torrent clients, real plugins, both databases.
//!
//! A module an area. Loopback only; nothing waits without a deadline and nothing measures the clock: speed is the
//! business of `cargo xtask bench`.

mod access;
mod agreed;
mod attack;
mod client;
mod crash;
mod document;
mod errors;
mod files_crash;
mod files_faults;
mod files_hostile;
mod files_lanes;
mod files_live;
mod files_media;
mod files_names;
mod files_race;
mod files_site;
mod files_table;
mod floods;
mod foreign;
mod formats;
mod guard;
mod headers;
mod isolation;
mod jobs;
mod jobs_crash;
mod leaks;
mod logins;
mod main_job;
mod moves;
mod nodes;
mod power;
mod proxies;
mod quiet;
mod realtime;
mod resilience;
mod schemathesis;
mod statements;
mod table;
