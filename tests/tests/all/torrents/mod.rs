//! Torrents: the main job with each client, every command with each, parking, moves of data, data of several torrents, removals, the formats, and the addresses they may come from.

mod categories;
mod commands;
mod created;
mod figures;
mod formats;
mod guard;
mod limits;
mod main_job;
mod mapped;
mod moves;
mod parking;
mod places;
mod removals;
mod shared_data;
mod shared_ways;
mod standings;
