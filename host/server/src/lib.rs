//! qm-server
