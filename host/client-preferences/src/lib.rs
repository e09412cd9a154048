//! Preferences of the torrent clients themselves, as far as their plugins offer them.
//!
//! Invariants: what runs programs on a client's machine, or decides who reaches the client, is neither shown nor changed, whatever a
//! plugin offers (`model::fence`); a secret is never given back; a change is held against the plugin's schema, and named by its keys
//! in the audit trail. Nothing is stored.
//! Bounds: 300 preferences of a plugin, 100 changes a request.
//!
//! Events: none.

mod area;
mod dto;
mod error;
mod model;
mod routes;
mod service;

pub use area::AREA;
use routes::routes;
