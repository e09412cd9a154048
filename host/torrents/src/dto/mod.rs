//! Requests and responses of this area.

pub mod dashboard;
pub mod engines;
pub mod requests;
pub mod taxonomy;
pub mod torrent;
