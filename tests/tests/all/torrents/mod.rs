//! Torrents: the main job with each client, moves of data, data of several torrents, removals, the formats, and the addresses they may come from.

mod created;
mod figures;
mod formats;
mod guard;
mod main_job;
mod moves;
mod places;
mod removals;
mod shared_data;
mod shared_ways;
mod standings;
