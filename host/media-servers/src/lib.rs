//! Media servers: the products that people play their media with, as an administrator connects them.
//!
//! How a product is spoken to is the affair of the plugin of its kind; this area keeps which servers there are, with which
//! secrets, and whether they answer. A refresh has a server look for new files; who is watching is asked for analytics.
//! Invariants: a configuration is stored encrypted, its secrets are never shown and in no error; a server that does not answer
//! is no error of a test; what a test found of a configuration that was changed meanwhile is not stored; who changes one is
//! judged in the transaction of the change.
//! Deliberately absent: sessions and history that are kept (those are analytics'), the event of a refresh that failed (that is
//! the workflow's which wanted it).
//!
//! Bounds: [`model::MAX_INTEGRATIONS`] servers, [`service::AT_ONCE`] of them asked at a time, eight seconds for an answer.
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
pub use error::MediaServersError;
pub use routes::routes;
pub use service::{Integrations, IntegrationsDeps};
