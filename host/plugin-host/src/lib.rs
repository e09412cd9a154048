//! qm-plugin-host
