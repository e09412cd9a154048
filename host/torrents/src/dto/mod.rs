//! Requests and responses of this area. Those about engines are in `qm_engines`, a torrent itself in `qm_torrent_lists`.

pub mod dashboard;
pub mod requests;
pub mod taxonomy;
