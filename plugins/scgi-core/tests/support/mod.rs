//! Support that the tests share: a scripted network, a real rTorrent, torrents to feed it.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up has failed"
)]

pub mod announce;
pub mod daemon;
pub mod metainfo;
pub mod rig;
pub mod script;
pub mod world;
