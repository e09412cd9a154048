//! Engines: which torrent clients are configured, the drivers that speak to them, and what they list.
//!
//! Each loaded engine has one sync loop (`sync`), which reads it every 2 s, stores what changed with the events that follow
//! from it, and swaps the engine's list. The registry keeps the loaded engines in line with their rows and with the
//! installed kinds. Other crates ask [`Engines`] for an [`Engine`], read its last list, and give it commands by
//! `Engine::order`, its only way to a client's commands: one that takes data needs the proof of `qm_torrent_data` that
//! nobody else uses the data.
//!
//! Invariants: what an event tells of is in the database before anybody hears it; a torrent is completed once; the transfer
//! ledger neither loses nor doubles a byte over a crash ([`model::ledger`] says which one case it cannot see); only what the
//! operator entered can be dialled. Deliberately absent: retries and back-off. An engine that failed is simply read again 2 s
//! later.
//!
//! Behind a driver there are paths of this server only: a client that sees others is mapped there (`sync::mapped`).
//!
//! It knows neither the commands of people nor where data lies. Of moves it reads only whether one is in the way of changing
//! an engine. Errors and the rules for paths that clients are told are those of all crates of torrents.
//!
//! Own state: one lock of the registry, held during a reload, under which engines end and are opened. An engine has one
//! lock, that of its records of torrents (`model::intake`), under which nothing is awaited; all else of it is swapped whole.
//!
//! Events: `torrent.completed`, `torrent.failed`, `torrent.renewed`, `torrent.rules_due`.

pub mod dto;
mod error;
pub mod model;
pub mod repo;
mod service;
pub mod settings;
mod sync;
#[cfg(test)]
mod testing;

pub use error::{TorrentsError, describe, samples};
pub use repo::sealed::EngineSecrets;
pub use service::{Engines, EnginesDeps, audit_entry, is_loaded_as};
pub use sync::engine::{Engine, EngineStatus};
pub use sync::publish::{EVENTS, RulesDue, TorrentCompleted, TorrentFailed, download_failed};
