//! Speaks to Kodi.

media_shell::media_server!(media_core::Kodi);
