//! Speaks to Jellyfin.

media_shell::media_server!(media_core::Home::JELLYFIN);
