//! What the tests share: a scripted network, a real rTorrent, torrents to feed it.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod daemon;
pub mod metainfo;
pub mod script;
