//! Parts that tests are made of: the whole server in this process or as a child process, real torrent clients and a
//! tracker on loopback, servers that misbehave, a scripted engine, and clients for HTTP and the realtime channel.
//!
//! Owns no assertions about the product but one: answers and messages keep to the documents. Never used by production
//! code. Helpers panic with a sentence that says what was missing. Every part ends what it started when it is dropped,
//! by its own process id.
//! Bounds: everything listens on 127.0.0.0/8 only; every wait has a deadline ([`wait::PATIENCE`]).

pub mod api;
pub mod binary;
mod code;
mod contract;
pub mod counting;
pub mod database;
pub mod files;
pub mod generations;
pub mod hostile;
pub mod http;
pub mod mounted;
pub mod names;
pub mod nginx;
pub mod plugins;
pub mod process;
pub mod proxy;
pub mod qbittorrent;
pub mod receiver;
pub mod rtorrent;
pub mod sample;
pub mod server;
pub mod smtp;
pub mod socketio;
pub mod tls;
pub mod token;
pub mod totp;
pub mod tracker;
pub mod transmission;
pub mod wait;
pub mod ws;
pub mod xmlrpc;

use std::path::{Path, PathBuf};

pub use api::Api;
pub use database::TestDb;
pub use qm_db::Backend;
pub use qm_identity::Pace;
pub use server::TestServer;

/// The checkout whose tests run. Cargo says at run time where that is: what was true when this was built may be another
/// checkout that shares the target directory.
pub fn checkout() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = here
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file());
    root.map(Path::to_path_buf)
        .expect("tests run inside a checkout, whose root has a Cargo.lock")
}
