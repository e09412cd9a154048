//! Mail: the configured mail server, and sending by it.
//!
//! One letter to one reader at a time, for whoever has leave to send one: plugins by their interface `mail`, and an
//! administrator who tries it. The settings are read anew for each, so a change holds from the next letter on.
//! Invariants: the password is stored encrypted, never shown, and in no error; no part of a letter breaks a header; a letter
//! ends within a minute, its wait included.
//! Deliberately absent: a queue (whoever sends knows when to try again), several servers, DKIM, what comes back.
//!
//! Bounds: four letters at a time, 30 s of waiting, 30 s of sending.
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
use service::{Mail, MailDeps};
