//! Speaks to Plex Media Server.

media_shell::media_server!(media_core::Plex);
