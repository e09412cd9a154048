//! Whole-server tests over real HTTP and real torrent clients; they live in `tests/all`, a folder an area.
