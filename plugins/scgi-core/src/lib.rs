//! Drives rTorrent over XML-RPC: SCGI on TCP or a unix socket, or HTTP.
//!
//! Owns: the wire format and every operation of the engine kind `scgi_client`. Runs natively and in a component alike:
//! the network and the clock are the traits of [`wire`].
//! Never: panics on what the other side sends, evaluates what a user entered as a command of rTorrent, or reports a
//! success it has not seen.
//! Bounds: 64 MiB a reply, 4 MiB a row of a list, 16 levels of nesting, 16 KiB of header.

pub mod error;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod wire;
pub mod xml;

mod add;
mod client;
mod commands;
mod details;
mod export;
mod fields;
mod fingerprint;
mod label;
mod limits;
mod names;
mod peers;
mod place;
mod poll;
mod preferences;
mod quiet;
mod relocate;
mod remove;
mod rows;
mod trackers;
mod words;

pub use client::Client;
pub use engine_model::Attention;
pub use error::{Error, Subject};
pub use poll::{Poller, Summary};
pub use wire::{Clock, Endpoint, NetError, Reply, Transport};
