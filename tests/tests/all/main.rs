//! Whole-server tests: real HTTP, real WebSocket, real torrent clients, real plugins, both databases.
//!
//! A folder an area; what several of them use stands beside them. Loopback only; nothing waits without a deadline and nothing
//! measures the clock: speed is the business of `cargo xtask bench`.

mod accounts;
mod automation;
mod client;
mod database;
mod dice;
mod document;
mod engines;
mod files;
mod gate;
mod indexers;
mod jobs;
mod killed;
mod library;
mod mail;
mod media_servers;
mod nodes;
mod notifications;
mod plugins;
mod realtime;
mod rss;
mod starving;
mod table;
mod titledb;
mod torrents;
mod web;
