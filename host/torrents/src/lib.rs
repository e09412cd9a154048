//! qm-torrents
