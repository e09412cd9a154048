//! Requests and responses of this area.

pub mod engines;
pub mod requests;
pub mod torrent;
