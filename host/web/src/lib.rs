//! qm-web
