//! Media servers: connections to products like Plex or Jellyfin.
//!
//! The plugin of a kind implements its protocol; this area stores the servers, their secrets and their
//! status. A refresh makes a server scan for new files; analytics ask for active sessions. Invariants: a
//! configuration is stored encrypted, its secrets are never shown and in no error; an unreachable server is
//! no error of a test; the result of a test is not stored for a configuration that was changed meanwhile; the
//! permission to change one is checked in the transaction of the change. Deliberately absent: stored sessions
//! and history (those belong to analytics), the event of a failed refresh (that belongs to the workflow which
//! requested it).
//!
//! Bounds: [`model::MAX_INTEGRATIONS`] servers, [`service::AT_ONCE`] of them asked at a time, eight seconds
//! per answer.
//!
//! Events: none. An action of automation: `media_server_refresh`. Jobs: `media.media_server_refresh`.

mod area;
mod dto;
mod error;
pub mod model;
mod repo;
mod routes;
pub mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
use service::{Integrations, IntegrationsDeps};
