//! qm-torrents

pub mod metainfo;
