//! qBittorrent's Web API (v2 of the wire, as the 4.x and 5.x clients speak it), without bindings to any host.
//!
//! Owns: the login and its back-off, the incremental list behind `sync/maindata`, the wire form of every operation, and
//! what the client's answers mean. The world comes in through two small traits, [`Http`] and [`Clock`], so all of it is
//! tested natively, against recorded exchanges and against the real client.
//! Never: follows a redirect, retries a refused login before its back-off has passed, panics on what a client sends.
//! Bounds: 64 MiB an answer, 1 MiB one torrent's JSON, 200 characters of a client's text in an error.

mod add;
mod commands;
mod config;
mod details;
mod encode;
mod error;
mod export;
mod groups;
mod http;
mod kept;
mod link;
mod login;
mod model;
mod pieces;
mod preferences;
mod quiet;
mod row;
mod session;
mod single;
mod standings;
mod stats;
mod values;

pub use config::{Config, SCHEMA};
pub use error::{Error, Subject};
pub use http::{Answer, Clock, Http, NetError, Request};
pub use model::{Delta, Outcome};
pub use session::Session;
