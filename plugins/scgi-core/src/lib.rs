//! rTorrent
