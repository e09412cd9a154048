//! Speaks to Emby.

media_shell::media_server!(media_core::Home::EMBY);
